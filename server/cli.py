"""The command line: `hipscope profile | check | optimize | validate | restore | prompt | emulate | ...`.

Results go to standard output, progress and errors to standard error. Every failure is one line and an exit code:
0 done, 1 no verified improvement, a defect that `check` found, or kernels that differ, 2 bad input, 3 missing tool,
4 the program or its build failed, 130 stopped, 141 whoever read the output has gone.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn

import typer

if TYPE_CHECKING:
    from rich.console import Console

    from hipscope.analysis.errors import HipscopeError
    from hipscope.server.tasks import Progress, Request

INTERNAL_ERROR = 70
STOPPED = 130
NO_READER = 128 + signal.SIGPIPE  # as the shell reports a program that SIGPIPE ended
_FILE_WIDTH = 110

app = typer.Typer(
    add_completion=False,
    rich_markup_mode=None,
    pretty_exceptions_enable=False,
)


class Backend(StrEnum):
    """What records the profile."""

    AUTO = "auto"
    EMULATOR = "emulator"
    ROCM = "rocm"
    NVIDIA = "nvidia"


class Format(StrEnum):
    """What the result looks like."""

    TEXT = "text"
    JSON = "json"


class Rewriter(StrEnum):
    """Who proposes a rewrite."""

    RECIPES = "recipes"
    LLM = "llm"
    BOTH = "both"


def named_path(word: str | Path) -> Path:
    """A path of the command line; an empty word, as a shell makes of an unset variable, is not the directory `.`.

    A default comes as a path.
    """
    if isinstance(word, str) and not word.strip():
        raise typer.BadParameter("the name is empty")
    return Path(word)


Source = Annotated[
    Path,
    typer.Argument(
        parser=named_path, metavar="SOURCE|DIR", help="A program, or a directory with hipscope.toml."
    ),
]
Arguments = Annotated[
    list[str] | None, typer.Argument(metavar="[-- PROGRAM ARGS]", help="What the program is given.")
]
BackendOption = Annotated[
    Backend, typer.Option(help="What records the profile; auto takes a GPU if there is one.")
]
DeviceOption = Annotated[
    str | None, typer.Option(help="GPU to model: mi300x, mi300a, mi250x, mi210, mi355x.", show_default=False)
]
FormatOption = Annotated[Format, typer.Option("--format", help="json prints one object and nothing else.")]


def _print_version(wanted: bool) -> None:
    if wanted:
        version()
        raise typer.Exit


@app.callback(no_args_is_help=True)
def options(
    _version: Annotated[
        bool,
        typer.Option(
            "--version", help="Print the version and leave.", callback=_print_version, is_eager=True
        ),
    ] = False,
) -> None:
    """See where a HIP program waits on the GPU, line by line, and get rewrites that are proved and timed."""


@app.command()
def profile(
    source: Source = Path(),
    program_args: Arguments = None,
    backend: BackendOption = Backend.AUTO,
    device: DeviceOption = None,
    top: Annotated[
        int | None, typer.Option(min=1, help="How many kernels to show.", show_default=False)
    ] = None,
    format: FormatOption = Format.TEXT,
    output: Annotated[
        Path | None, typer.Option("-o", "--output", help="Write the result to this file.")
    ] = None,
) -> None:
    """Build and run a program and show what its kernels wait for."""
    with failures_reported():
        from hipscope.analysis.errors import ProgramFailed
        from hipscope.server import tasks
        from hipscope.server.view import read_report

        request = tasks.Request(source, tuple(program_args or ()), backend=backend.value, device=device)
        report = run_task(tasks.profile, request)
        if top is not None:
            report["kernels"] = report["kernels"][:top]
            shown = {k["name"] for k in report["kernels"]} if format is Format.JSON else None
            report["findings"] = [f for f in report["findings"] if shown is None or f["kernel"] in shown]
        view = read_report(report)
        with result_stream(output, format) as stream:
            if format is Format.JSON:
                from hipscope.server.render.json import render_json

                stream.write(render_json(report))
            else:
                from hipscope.server.render.text import render_profile

                render_profile(view, text_console(stream, output), top)
        if (why := view.failure()) is not None:
            raise ProgramFailed(why, output=str(view.program.get("output", "")))


@app.command()
def optimize(
    source: Source = Path(),
    program_args: Arguments = None,
    formula: Annotated[
        str, typer.Option(help="auto takes the finding with the most time at stake.")
    ] = "auto",
    kernel: Annotated[str | None, typer.Option(help="Only this kernel.", show_default=False)] = None,
    rewriter: Annotated[
        Rewriter | None, typer.Option(help="Who proposes rewrites.", show_default=False)
    ] = None,
    test_command: Annotated[
        str | None, typer.Option(help="The project's own tests, as a further gate.", show_default=False)
    ] = None,
    apply: Annotated[bool, typer.Option("--apply", help="Write a verified rewrite into the file.")] = False,
    yes_send: Annotated[
        bool,
        typer.Option("--yes-send", help="Agree, from now on, to send this project's kernels to the model."),
    ] = False,
    backend: BackendOption = Backend.AUTO,
    device: DeviceOption = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Rewrite the kernel that loses the most time; show the change only if it is proved and faster."""
    with failures_reported():
        from hipscope.server import tasks

        request = tasks.Request(
            source,
            tuple(program_args or ()),
            backend=backend.value,
            device=device,
            formula=formula,
            kernel=kernel,
            rewriter=rewriter.value if rewriter else None,
            yes_send=yes_send,
            test_command=test_command,
        )
        report = run_task(tasks.optimize, request)
        verified = report["status"] == "verified"
        kept = tasks.apply(report) if apply and verified else None
        if format is Format.JSON:
            from hipscope.server.render.json import render_json

            sys.stdout.write(render_json(report))
        else:
            from rich.text import Text

            from hipscope.server.render.text import render_optimization, short_path
            from hipscope.server.view import read_optimization

            found = read_optimization(report)
            console = text_console(sys.stdout, None)
            render_optimization(found, console)
            if verified and found.edit:
                file = short_path(found.edit.file)
                done = f"Written to {file}; the original is {short_path(str(kept))}."
                console.print(Text(done if kept else f"Not written; --apply writes it to {file}."))
        if report["status"] not in ("verified", "nothing_to_do"):
            raise typer.Exit(1)


@app.command()
def prompt(
    source: Source = Path(),
    program_args: Arguments = None,
    kernel: Annotated[
        str | None, typer.Option(help="This kernel; else the one with the worst finding.", show_default=False)
    ] = None,
    backend: BackendOption = Backend.AUTO,
    device: DeviceOption = None,
    format: FormatOption = Format.TEXT,
) -> None:
    """Show exactly what the language model would be sent for a kernel. Sends nothing."""
    with failures_reported():
        from hipscope.server import tasks

        request = tasks.Request(
            source, tuple(program_args or ()), backend=backend.value, device=device, kernel=kernel
        )
        report = run_task(tasks.prompt, request)
        if format is Format.JSON:
            from hipscope.server.render.json import render_json

            sys.stdout.write(render_json(report))
            return
        sys.stdout.write(report["text"] + "\n")
        if not report["complete"]:
            sys.stderr.write(
                "Only the report; with `pip install 'hipscope[llm]'` the whole request is shown.\n"
            )
        sys.stderr.write(
            f"{report['profile_bytes']} bytes of profile in, about {report['tokens']} tokens out; nothing was sent\n"
        )


@app.command()
def doctor(
    program: Annotated[
        Path | None,
        typer.Argument(
            parser=named_path,
            metavar="PROGRAM",
            help="A compiled program: also say which of its libraries are not emulated.",
        ),
    ] = None,
) -> None:
    """Show the tools that were found, what works with them, and how to get what is missing."""
    with failures_reported():
        from hipscope.analysis.config import load_config
        from hipscope.analysis.runs.doctor import examine, works
        from hipscope.analysis.runs.library_calls import not_emulated, sentence
        from hipscope.server.render.doctor import render_tools

        said = sentence(program, not_emulated(program)) + "\n" if program is not None else ""
        tools = examine(load_config(Path.cwd()))
        render_tools(tools, text_console(sys.stdout, None))
        sys.stdout.write(said)
        if not works(tools):
            raise typer.Exit(3)


@app.command()
def lsp(
    tcp: Annotated[
        bool, typer.Option("--tcp", help="Listen on a port instead of standard input and output.")
    ] = False,
    host: Annotated[str, typer.Option(help="Address to listen on, with --tcp.")] = "127.0.0.1",
    port: Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on, with --tcp.")] = 2087,
    stdio: Annotated[
        bool, typer.Option("--stdio", help="Accepted for editors that pass it; the default.")
    ] = False,
) -> None:
    """Start the language server."""
    from hipscope.server.app import serve

    if tcp and stdio:
        raise typer.BadParameter("--tcp and --stdio exclude each other")
    try:
        serve((host, port) if tcp else None)
    except OSError as error:
        sys.stderr.write(f"hipscope: cannot listen on {host}:{port}: {error.strerror}\n")
        raise typer.Exit(2) from None
    except KeyboardInterrupt:
        raise typer.Exit(STOPPED) from None


@app.command()
def version() -> None:
    """Print the version."""
    from hipscope.server.app import version as installed

    sys.stdout.write(f"hipscope {installed()}\n")


def main() -> None:
    """The console script."""
    app(prog_name="hipscope")


def run_task(
    task: Callable[[Request, Progress, threading.Event], dict[str, Any]], request: Request
) -> dict[str, Any]:
    """Do a task with progress on standard error, and stop it when we are asked to."""
    with stop_asked() as cancel, progress_shown() as progress:
        return task(request, progress, cancel)


@contextlib.contextmanager
def stop_asked() -> Iterator[threading.Event]:
    """What Ctrl-C and SIGTERM set instead of ending us; a second one does not wait for that."""
    asked = threading.Event()

    def stop(_number: int, _frame: object) -> None:
        if asked.is_set():
            raise KeyboardInterrupt
        asked.set()

    with _handled(stop):
        yield asked


@contextlib.contextmanager
def _handled(handler: Callable[[int, object], None]) -> Iterator[None]:
    before = {number: signal.signal(number, handler) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        yield
    finally:
        for number, former in before.items():
            signal.signal(number, former)


@contextlib.contextmanager
def progress_shown() -> Iterator[Progress]:
    """Progress as a line on standard error; nothing at all when that is not a terminal."""
    if not sys.stderr.isatty():
        yield _nowhere
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=24),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def report(message: str, fraction: float | None = None) -> None:
            known = fraction is not None
            bar.update(task, description=message, total=1.0 if known else None, completed=fraction or 0.0)

        yield report


def _nowhere(_message: str, _fraction: float | None = None) -> None:
    """Where progress goes when nobody watches."""


@contextlib.contextmanager
def failures_reported() -> Iterator[None]:
    """Turn every failure, and being stopped, into one line on standard error and an exit code."""
    from hipscope.analysis.errors import Cancelled, HipscopeError, of_the_system

    def stop(_number: int, _frame: object) -> None:
        raise KeyboardInterrupt

    try:
        with _handled(stop):
            yield
    except Cancelled:
        sys.stderr.write("hipscope: stopped\n")
        raise typer.Exit(STOPPED) from None
    except HipscopeError as failure:
        print_failure(failure)
        raise typer.Exit(failure.exit_code) from None
    except KeyboardInterrupt:
        sys.stderr.write("hipscope: stopped\n")
        raise typer.Exit(STOPPED) from None
    except BrokenPipeError:
        _reader_gone()
    except (typer.Exit, typer.Abort, typer.BadParameter):
        raise
    except Exception as error:
        if os.environ.get("HIPSCOPE_DEBUG"):
            raise
        if isinstance(error, OSError) and (known := of_the_system(error)):
            print_failure(known)
            raise typer.Exit(known.exit_code) from None
        where = "set HIPSCOPE_DEBUG=1 to see where"
        sys.stderr.write(f"hipscope: internal error: {type(error).__name__}: {error} ({where})\n")
        raise typer.Exit(INTERNAL_ERROR) from None


def print_failure(failure: HipscopeError) -> None:
    """What the program or the compiler said, unchanged, then our line and what to do next."""
    output = str(getattr(failure, "output", "")).rstrip("\n")
    if output:
        sys.stderr.write(printable(output) + "\n")
    sys.stderr.write(f"hipscope: {failure.message}\n")
    if failure.hint:
        sys.stderr.write(f"  {failure.hint}\n")


def printable(text: str) -> str:
    """The text without the control characters that could change the terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


@contextlib.contextmanager
def result_stream(path: Path | None, format: StrEnum) -> Iterator[Any]:
    """Standard output, or the file that the result is to be written to."""
    from hipscope.analysis.errors import UsageError

    if path is None:
        yield sys.stdout
        return
    try:
        with path.open("w", encoding="utf-8") as stream:
            yield stream
    except OSError as error:
        raise UsageError(f"cannot write the {format.value} result to {path}: {error.strerror}") from error


def text_console(stream: Any, path: Path | None) -> Console:
    """A console on a stream; a file gets no colours and a fixed width."""
    from rich.console import Console

    if path is not None or not sys.stdout.isatty():
        console = Console(
            file=stream, width=_FILE_WIDTH, no_color=True, highlight=False, legacy_windows=False
        )
    else:
        console = Console(file=stream, highlight=False)
    console.on_broken_pipe = _reader_gone  # type: ignore[method-assign]  # rich would leave with 1, a verdict of ours
    return console


def _reader_gone() -> NoReturn:
    # Whoever read our output has gone; a later flush must not complain about that.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(NO_READER)


def _add_commands() -> None:
    from hipscope.server.commands import check, emulate, emulator, restore, validate

    check.add(app)
    emulate.add(app)
    emulator.add(app)
    restore.add(app)
    validate.add(app)


_add_commands()
