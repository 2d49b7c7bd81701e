"""What mends a failed job, as buttons of the message that tells of it.

Takes the failure, gives the buttons by what failed; each leads to the place or does the thing. A client that shows no
questions gets the message alone, which says in words what to do.
"""

from __future__ import annotations

import asyncio
import contextlib
import functools
import re
import shlex
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

from lsprotocol import types as lsp

from hipscope.analysis.settings_places import mistake_place
from hipscope.analysis.system.places import place_of
from hipscope.server.features.commands.arguments import SET_ACTION, ask_for_arguments, set_arguments
from hipscope.server.features.commands.bench import write_bench
from hipscope.server.features.commands.check import check
from hipscope.server.features.commands.profile import choose_again, profile
from hipscope.server.features.commands.settings_edit import edit_setting
from hipscope.server.jobs.messages import JobError
from hipscope.server.session.build_choices import is_built_alone
from hipscope.server.session.known_profiles import SOURCES, toml_settings
from hipscope.server.session.language_server import HipServer, show_file
from hipscope.server.session.project_job import LINES_SHOWN, Show

CHOOSE_ACTION = "Choose How to Build"
INSTALL_ACTION, COPY_ACTION = "Install in a Terminal", "Copy the Command"
BENCH_ACTION, CHECK_ACTION = "Write a Bench", "Check for Defects"
PLACE_ACTION, SETTINGS_ACTION = "Go to the Error", "Open hipscope.toml"
NAME_ACTION = "Go to the Name of the File"
OUTPUT_ACTION = "Show All It Printed"
LONGER_ACTION, AGAIN_ACTION, EMPTY_ACTION = "Allow It More Time", "Profile Again", "Empty the Cache"

Repair = Callable[[], Coroutine[Any, Any, object]]
_INSTALLS = re.compile(r"\b(?:run: )?((?:sudo )?apt-get install [^()]+)")
_LIMIT = re.compile(r"\b((?:build_)?timeout_s)\b")
_IN_SETTINGS = re.compile(r"(?P<path>/[^\n]*?hipscope\.toml)(?::(?P<line>\d+))?:")
_FAULT = re.compile(r"\bSIG(?!KILL|TERM)[A-Z]+\b|\bfault\b|\bout-of-bounds\b|\bmisaligned\b")
_PROPOSED = (
    re.compile(r"[\"'`](-[\w-]+(?:[ =][\w./-]+)?)[\"'`]"),
    re.compile(r"(?:e\.g\.|[Ee]xample)[^\n]*?\./[\w.-]+[ \t]+([\w./ \t=-]+)"),
)
_USAGE = re.compile(r"\busage\b|\barguments?\b", re.IGNORECASE)
_MOST_PROPOSED = 2
_KERNEL = re.compile(r"__global__[^;{(]*?\b(\w+)\s*\(")


async def offer_repairs(ls: HipServer, key: Path, message: str, failure: JobError, show: Show) -> None:
    """Tell of a failure, with a button for each thing that mends it, and do what is chosen."""
    found = dict(_repairs(ls, key, failure, show))
    if not ls.can_ask and CHECK_ACTION in found:
        message += f". `hipscope check {key.name}` names the lines."
    if not found or not ls.can_ask:
        ls.tell(message, lsp.MessageType.Error)
        return
    actions = [lsp.MessageActionItem(title=title) for title in found]
    params = lsp.ShowMessageRequestParams(type=lsp.MessageType.Error, message=message, actions=actions)
    chosen = await ls.window_show_message_request_async(params)
    if chosen is not None and chosen.title in found:
        await found[chosen.title]()


def _repairs(ls: HipServer, key: Path, failure: JobError, show: Show) -> Iterator[tuple[str, Repair]]:
    uri = ls.uri(str(key))
    said = f"{failure.message} {failure.hint or ''}"
    if is_built_alone(key, ls.folders()):
        yield CHOOSE_ACTION, lambda: choose_again(ls, uri, show)
    if (
        place := next((d for d in failure.diagnostics if d.file and d.severity == "error"), None)
    ) is not None:
        yield PLACE_ACTION, lambda: show_file(ls, Path(place.file), max(0, place.line - 1))
    if ls.has_extension and (command := _INSTALLS.search(said)) is not None:
        yield INSTALL_ACTION, lambda: _hand_over(ls, command[1], "run", uri)
        yield COPY_ACTION, lambda: _hand_over(ls, command[1], "copy", uri)
    if (settings := _IN_SETTINGS.search(said)) is not None:
        line = int(settings["line"] or 1) - 1
        yield SETTINGS_ACTION, lambda: show_file(ls, Path(settings["path"]), line)
    elif (limit := _LIMIT.search(said)) is not None:
        yield LONGER_ACTION, lambda: _allow_longer(ls, key, limit[1], show)
    elif "in hipscope.toml" in said and (home := place_of(key, "hipscope.toml").holder) is not None:
        yield SETTINGS_ACTION, lambda: _show_setting(ls, home / "hipscope.toml", failure.message)
    yield from _of_the_program(ls, key, failure, show)
    if ls.has_extension and len(failure.output.strip().splitlines()) > LINES_SHOWN and place is None:
        yield OUTPUT_ACTION, lambda: _hand_over(ls, "", "log", uri)
    if failure.failure == "NotAProgram" and (kernel := _KERNEL.search(ls.text(str(key)) or "")) is not None:
        yield BENCH_ACTION, lambda: write_bench(ls, uri, kernel[1], show)
    if failure.failure == "CannotWrite":
        yield EMPTY_ACTION, lambda: _empty_cache(ls, uri, show)
    if failure.failure in ("", "CannotWrite") and place is None:
        yield AGAIN_ACTION, lambda: profile(ls, uri, show, asked=True)


def _of_the_program(ls: HipServer, key: Path, failure: JobError, show: Show) -> Iterator[tuple[str, Repair]]:
    """What helps a program that ran and failed."""
    if failure.failure != "ProgramFailed" or _LIMIT.search(failure.hint or ""):
        return
    uri = ls.uri(str(key))
    settings = (key if key.is_dir() else key.parent) / "hipscope.toml"
    if _FAULT.search(failure.message):
        yield CHECK_ACTION, lambda: check(ls, uri, show)
    elif not failure.lacks_files:
        for given in said_arguments(failure.output) or _of_examples(key, failure):
            # Bound now: each button has its own arguments.
            yield f"Run with {shlex.join(given)}", functools.partial(set_arguments, ls, uri, given, show)
        yield SET_ACTION, lambda: ask_for_arguments(ls, uri, show)
    elif (named := _named_in(ls, key, failure.hint or "")) is not None:
        yield NAME_ACTION, lambda: show_file(ls, *named)
    if failure.lacks_files and settings.is_file():
        yield SETTINGS_ACTION, lambda: show_file(ls, settings)


def said_arguments(output: str) -> list[tuple[str, ...]]:
    """Arguments that a program itself proposes: an option in quotes, or its own command line as an example."""
    found = [words for pattern in _PROPOSED for words in pattern.findall(output)]
    given = []
    for words in found:
        with contextlib.suppress(ValueError):
            given.append(tuple(shlex.split(words)))
    return [one for one in dict.fromkeys(given) if one][:_MOST_PROPOSED]


def _of_examples(key: Path, failure: JobError) -> list[tuple[str, ...]]:
    """Arguments that a README or a script starts a program with which asks for some, or small amounts for its usage."""
    from hipscope.analysis.build_files.commands import commands_of
    from hipscope.analysis.build_files.readme import said_arguments as of_readmes
    from hipscope.analysis.build_files.size_options import guessed_arguments

    if _USAGE.search(failure.output) is None:
        return []
    folder = key if key.is_dir() else key.parent
    run = toml_settings(folder / "hipscope.toml").get("run")
    started = [one.started for one in commands_of(str(run), folder)] if key.is_dir() else []
    program = next((one.words[0] for one in started if one is not None), key.stem)
    guessed = [one for one in [guessed_arguments(failure.output)] if one]
    return (of_readmes(folder, program) or guessed)[:_MOST_PROPOSED]


def _named_in(ls: HipServer, key: Path, hint: str) -> tuple[Path, int] | None:
    """Where a source of the program names a file that the hint says is not there; its line counts from 0."""
    names = re.split(r"[,;]\s*", hint.partition("not there: ")[2])
    sources = [key] if key.suffix in SOURCES else sorted(p for p in key.iterdir() if p.suffix in SOURCES)
    for file in sources:
        lines = (ls.text(str(file)) or "").splitlines()
        for number, line in enumerate(lines):
            if any(name and Path(name).name in line for name in names):
                return file, number
    return None


async def _hand_over(ls: HipServer, command: str, how: str, uri: str) -> None:
    """Have our extension run or copy a command, or show the log: the server has neither terminal nor clipboard.

    Once a command has run well, the extension has the document `uri` profiled again.
    """
    ls.protocol.notify("hipscope/command", {"command": command.strip(), "how": how, "uri": uri})


async def _show_setting(ls: HipServer, file: Path, said: str) -> None:
    """Open settings at the key that a message begins with, `toolchain.clang: ...`."""
    await show_file(ls, file, mistake_place(ls.text(str(file)) or "", said.partition(":")[0]).line)


async def _allow_longer(ls: HipServer, key: Path, limit: str, show: Show) -> None:
    """Write four times the limit that was too short, and profile with it. What a message counts may be less."""
    from hipscope.analysis.config import Config

    folder = key if key.is_dir() else key.parent
    home = place_of(key, "hipscope.toml").holder or folder
    seconds = toml_settings(home / "hipscope.toml").get(limit, Config.model_fields[limit].default)
    if await edit_setting(ls, folder / "hipscope.toml", limit, 4 * float(seconds)):
        await profile(ls, ls.uri(str(key)), show, asked=True)


async def _empty_cache(ls: HipServer, uri: str, show: Show) -> None:
    from hipscope.analysis.system.cache_use import clear_unused_cache
    from hipscope.analysis.system.directories import cache_directory

    removed = await asyncio.to_thread(clear_unused_cache, cache_directory())
    if removed is None:
        ls.tell("hipscope: the cache is in use; it is emptied before the next command that finds it unused.")
    else:
        freed = sum(entry.size for entry in removed)
        ls.tell(f"hipscope: the cache is empty, {freed / 1e6:.0f} MB are free again.")
    await profile(ls, uri, show, asked=True)
