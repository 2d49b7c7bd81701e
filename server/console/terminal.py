"""What all commands do at their edge: exit codes, failures in one line, progress, where the result goes."""

from __future__ import annotations

import contextlib
import io
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

import typer

from hipscope.server.console.manner import MANNER, Color

if TYPE_CHECKING:
    from rich.console import Console

    from hipscope.analysis.errors import HipscopeError
    from hipscope.analysis.run import Progress, Run
    from hipscope.analysis.source.texts import SourceTexts
    from hipscope.server.jobs.tasks import TaskRequest

T = TypeVar("T")

INTERNAL_ERROR = 70
STOPPED = 130
NO_READER = 128 + signal.SIGPIPE  # as the shell reports a program that SIGPIPE ended
_FILE_WIDTH = 110
_DRAWN = "█▏▎▍▌▋▊▉▁▂▃▄▅▆▇✓✗–→…×µ"
_PLAIN = str.maketrans(
    _DRAWN, "#-------._-=+*#+x->~xu"
)  # a bar's last cell is partly filled; a strip gets higher


def run_task(
    task: Callable[[TaskRequest, Run], T], request: TaskRequest, texts: SourceTexts | None = None
) -> T:
    """Do a task with progress on standard error, and stop it when we are asked to.

    `texts` are for a command that shows lines of what was built; each task has its own without.
    """
    from hipscope.analysis.run import Run
    from hipscope.analysis.source.texts import SourceTexts

    with work_begun() as cancel, progress_shown() as progress:
        return task(request, Run(cancel, progress, texts or SourceTexts(), tell=told))


@contextlib.contextmanager
def work_begun() -> Iterator[threading.Event]:
    """Around what builds and runs programs: nobody clears the cache meanwhile; gives what asks it to stop.

    Variables that no program will see, as they say wrongly where ROCm is, are named on standard error.
    """
    from hipscope.analysis.system.cache_use import cache_in_use
    from hipscope.analysis.system.directories import cache_directory
    from hipscope.analysis.system.stale_variables import stale_variables

    for name, what in stale_variables(os.environ).items():
        say(f"hipscope: {name} {what}; it is left out")
    with stop_asked() as cancel, cache_in_use(cache_directory()):
        yield cancel


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
    manner = MANNER.get()
    if manner.quiet or not sys.stderr.isatty():
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
    plain = True if manner.color is Color.NEVER else None
    with Progress(*columns, console=Console(stderr=True, no_color=plain), transient=True) as bar:
        task = bar.add_task("starting", total=None)

        def report(message: str, fraction: float | None = None) -> None:
            known = fraction is not None
            bar.update(task, description=message, total=1.0 if known else None, completed=fraction or 0.0)

        yield report


def _nowhere(_message: str, _fraction: float | None = None) -> None:
    """Where progress goes without a terminal."""


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


def say(note: str) -> None:
    """A note on standard error, for who has not asked for quiet."""
    if not MANNER.get().quiet:
        sys.stderr.write(f"{note}\n")


def told(sentence: str) -> None:
    """The same for a sentence that may hold what others have printed."""
    say(f"hipscope: {printable(sentence)}")


def print_failure(failure: HipscopeError) -> None:
    """What the program or the compiler said, unchanged, then our line and what to do next."""
    output = str(getattr(failure, "output", "")).rstrip("\n")
    if output:
        sys.stderr.write(printable(output) + "\n")
    sys.stderr.write(f"hipscope: {printable(failure.message)}\n")
    if failure.hint:
        sys.stderr.write(f"  {printable(failure.hint)}\n")


def printable(text: str) -> str:
    """The text without the control characters that could change the terminal."""
    return "".join(c if c.isprintable() or c in "\n\t" else "\ufffd" for c in text)


def check_output(
    path: Path | None, inputs: Iterable[Path | str] = (), advice: str = "name another file with -o"
) -> None:
    """Raises UsageError when a result cannot be written to this file: asked before minutes of work are done for it.

    Neither is it written onto one of the `inputs`, by whatever name, nor onto a source or settings.
    """
    from hipscope.analysis.errors import UsageError

    if path is None:
        if isinstance(sys.stdout, ClosedOutput):
            raise UsageError("standard output is closed", "name a file with -o")
        return
    check_writable(path, advice)
    if (what := _what_is_lost(path, inputs)) is not None:
        raise UsageError(f"cannot write to {path}: it is {what}, which would be lost", advice)


def check_writable(path: Path, advice: str) -> None:
    """Raises UsageError when a file can neither be replaced nor made."""
    from hipscope.analysis.errors import UsageError

    folder = path.absolute().parent
    if not folder.is_dir():
        raise UsageError(f"cannot write to {path}: there is no directory {folder}", "make it first")
    if path.is_dir() or not os.access(path if path.exists() else folder, os.W_OK):
        reason = "it is a directory" if path.is_dir() else "permission denied"
        raise UsageError(f"cannot write to {path}: {reason}", advice)


def _what_is_lost(path: Path, inputs: Iterable[Path | str]) -> str | None:
    """What a file is that a result would replace, when that is no older result."""
    from hipscope.analysis.build_files.source_files import is_source
    from hipscope.analysis.config import CONFIG_FILE

    if not path.is_file():
        return None
    if any(Path(given).exists() and path.samefile(given) for given in inputs):
        return "an input of this command"
    real = Path(os.path.realpath(path))
    return "a source file" if is_source(real) else "a settings file" if real.name == CONFIG_FILE else None


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
    """A console on a stream, as wide as COLUMNS says; a file or a pipe gets no colours, and 110 columns without it."""
    from rich.console import Console

    columns = os.environ.get("COLUMNS", "")
    width = int(columns) if columns.isdecimal() and int(columns) > 0 else None
    if path is None and not draws_blocks(stream):
        stream = PlainStream(stream)
    color, terminal = MANNER.get().color, path is None and sys.stdout.isatty()
    if color is Color.ALWAYS and path is None:
        console = Console(
            file=stream, width=width or (None if terminal else _FILE_WIDTH), force_terminal=True, highlight=False,
            no_color=False, color_system="truecolor" if terminal else "256", legacy_windows=False,
        )  # fmt: skip
    elif not terminal:
        console = Console(
            file=stream, width=width or _FILE_WIDTH, no_color=True, highlight=False, legacy_windows=False
        )
    else:
        plain = True if color is Color.NEVER else None
        console = Console(file=stream, width=width, highlight=False, no_color=plain)
    console.on_broken_pipe = _reader_gone  # type: ignore[method-assign]  # rich would leave with 1, a verdict of ours
    return console


def draws_blocks(stream: Any) -> bool:
    """Whether the stream's encoding has the characters that reports are drawn with."""
    try:
        _DRAWN.encode(getattr(stream, "encoding", None) or "utf-8")
    except (UnicodeEncodeError, LookupError):
        return False
    return True


class PlainStream:
    """A stream whose encoding has no blocks, arrows or ticks: each is written as one character of ASCII."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self.encoding = stream.encoding

    def write(self, text: str) -> int:
        """Write what can be written; any other character that the encoding lacks becomes a question mark."""
        plain = text.translate(_PLAIN).encode(self.encoding, "replace").decode(self.encoding)
        self._stream.write(plain)
        return len(text)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


class ClosedOutput(io.TextIOWrapper):
    """In place of a standard output that the caller has closed: what is written goes nowhere."""

    def __init__(self) -> None:
        super().__init__(io.FileIO(os.devnull, "wb"), encoding="utf-8")


def prepare_output() -> None:
    """Let no character that standard output cannot show end a command, nor one of our streams that is closed.

    Files that are opened later must not get the numbers of standard streams: programs would write into them.
    """
    for number, closed in enumerate((sys.stdin is None, sys.stdout is None, sys.stderr is None)):
        if closed:
            with contextlib.suppress(OSError):
                os.open(os.devnull, os.O_RDWR)  # takes the lowest number, which is this one
                os.set_inheritable(number, True)
    if sys.stdout is None:
        sys.stdout = ClosedOutput()
    if sys.stderr is None:
        sys.stderr = ClosedOutput()
    if isinstance(sys.stdout, io.TextIOWrapper):
        sys.stdout.reconfigure(errors="replace")


def _reader_gone() -> NoReturn:
    # The reader of the output has gone; a later flush must not fail because of that.
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    raise SystemExit(NO_READER)
