"""What a program lacks that ends before it starts a kernel: files, commands of a shell, arguments.

Takes its command line, the directory that it runs in, the texts of its sources and what it printed; gives a clause
for a hint, with paths as they are written, and where the files would lie.
"""

from __future__ import annotations

import glob
import itertools
import re
import shlex
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

_MOST = 3
_LITERAL = re.compile(rb'"((?:[^"\\\n]|\\.)*)"')
_INCLUDE = re.compile(rb"^[ \t]*#[ \t]*include[^\n]*", re.MULTILINE)
_COMMENT = re.compile(rb"//[^\n]*|/\*.*?\*/", re.DOTALL)
# A path with a name that ends in an extension with a letter: `../data/matrix.txt`, not `1.5` and no sentence.
# `sound(1).wav` is how browsers call what they fetch once more.
_PATH = re.compile(r"(?:[\w.~+-]*/)*[\w+-][\w.+-]*(?:\(\d+\))?\.(?=\w*[A-Za-z])\w{1,6}")
# With a folder, or its beginning, a name needs no extension: `data/kdd_cup` of a command line, `../kdd_cup` anywhere.
_GIVEN = re.compile(_PATH.pattern + r"|/?(?:[\w.~+-]+/)+(?=[\w.+-]*[A-Za-z])[\w.+-]+")
_SAID = re.compile(_PATH.pattern + r"|(?:\.{1,2}|~)/(?:[\w.+-]+/)*[\w.+-]+")
# A file that is opened to be written: `fopen("log.txt", "wb")`, `std::ofstream out("log.txt")`.
_WRITTEN = re.compile(rb'"[^"\n]*"\s*,\s*"[wa][bt+x]*"|\bofstream\b[^;"\n]*"[^"\n]*"')
# "usage: main N", "use the event-based method with \"-m event\" argument"
_ARGUMENTS = re.compile(r"(?<!memory )\busage\b|\barguments?\b|\bcommand[- ]line\b", re.IGNORECASE)
_USAGE = re.compile(r"\b(?:usage|example):?\s+\S+", re.IGNORECASE)  # the name of the program comes behind it
# Of people and of pages, and "e.g.": none is a file.
_ADDRESS = re.compile(
    r"\b[A-Za-z][\w+.-]*://\S*|\b[\w.+-]+(?:@| at )[\w-]+\.[\w.-]+\w|\bwww\.\S+"
    r"|(?<![\w./-])(?:e\.g|i\.e)\b(?!\.\w)|(?<![\w./-])(?:[\w-]+\.)+(?:com|edu|gov|io|net|org)\b(?![./]\w)"
)
ASKS_FOR_ARGUMENTS = (
    "what it printed speaks of its arguments: give them after `--`, in a line `// hipscope: run ARGUMENTS` of the "
    "source, or in `run` of hipscope.toml"
)
_NAMED = "it names what is not there: "
_WORD = re.compile(r"(?:[^\s'\"`<>()\[\],;:=]|(?<=\w)\(\d+\)(?=\.\w))+(?<![.!?])")
_NO_COMMAND = re.compile(
    r"^(?:/bin/)?(?:ba)?sh: (?:line )?(?:\d+: )?([\w.+/-]+): (?:command )?not found", re.MULTILINE
)
_HEADERS = (".h", ".hpp", ".hh", ".hxx", ".cuh", ".inl", ".inc")


def speaks_of_arguments(output: str) -> str | None:
    """The last line in which a program speaks of the arguments that it is given; None where none does."""
    lines = [line.strip() for line in output.splitlines() if _ARGUMENTS.search(line)]
    return lines[-1] if lines else None


@dataclass(frozen=True)
class Lacking:
    """What a program lacks: the clause that says it, and the files whose appearance may mend it, absolute."""

    clause: str
    files: tuple[Path, ...] = ()


def what_is_missing(
    argv: Sequence[str], directory: Path, sources: Iterable[bytes], output: str = ""
) -> Lacking | None:
    """Commands, files, or arguments that a program speaks of and does not have."""
    if commands := missing_commands(output):
        return Lacking(_NAMED + ", ".join(f"the command {name}" for name in commands))
    if files := missing_files(argv, directory, output):
        places = _command_line(argv, directory)[1]
        return Lacking(_NAMED + _listed(files, directory), _expected(files, places))
    if speaks_of_arguments(output) is not None and (words := _no_files(argv, directory)):
        return Lacking(f"of its arguments no file is called {_listed(words, directory)}")
    if speaks_of_arguments(output) is not None:
        return Lacking(ASKS_FOR_ARGUMENTS)
    if files := files_of_sources(directory, sources):
        return Lacking(
            "its sources name files that are not there: " + _listed(files, directory),
            _expected(files, (directory,)),
        )
    return None


def _listed(names: Sequence[str], directory: Path) -> str:
    return ", ".join(names) + _what_fetches(names, directory)


def _expected(names: Sequence[str], places: Sequence[Path]) -> tuple[Path, ...]:
    return tuple((place / Path(name).expanduser()).absolute() for name in names for place in places)


def _no_files(argv: Sequence[str], directory: Path) -> tuple[str, ...]:
    """The plain words behind the program's name that are no files: `main 500 data result`."""
    words, places = _command_line(argv, directory)
    program = next((n for n, word in enumerate(words) if "/" in word), len(words))
    behind = words[program + 1 :] if argv[:1] == ("/bin/sh",) else words
    return _absent((word for word in behind if re.fullmatch(r"[A-Za-z_][\w-]*", word)), places)


def _what_fetches(names: Iterable[str], directory: Path) -> str:
    """What stands beside a name for a file that a tool fetches, and that tool."""
    for name in names:
        place = (directory / name).parent
        found = sorted(place.glob(f"{glob.escape(Path(name).name)}*.dvc")) if place.is_dir() else []
        if found:
            return f"; {found[0].name} stands for it: `dvc pull` fetches it"
    return ""


def missing_files(argv: Sequence[str], directory: Path, output: str = "") -> tuple[str, ...]:
    """At most three of those that are not there: of the command line and the output, else of either one."""
    words, places = _command_line(argv, directory)
    printed = _WORD.findall(_USAGE.sub(" ", _ADDRESS.sub(" ", output)))
    given, said = tuple(_in_words(words, _GIVEN)), tuple(_in_words(printed, _SAID))
    for names in ([name for name in given if name in said], given, said):
        if found := _absent(names, places):
            return found
    return ()


def files_of_sources(directory: Path, sources: Iterable[bytes]) -> tuple[str, ...]:
    """At most three that are not there and that the sources name, other than to write them. Some may be never read."""
    return _absent((name for text in sources for name in _in_text(text)), (directory,))


def _command_line(argv: Sequence[str], directory: Path) -> tuple[list[str], tuple[Path, ...]]:
    """The words behind the program's name, and the directories that it may run in."""
    if tuple(argv[:2]) != ("/bin/sh", "-c"):
        return list(argv[1:]), (directory,)
    try:
        words = shlex.split(argv[2])
    except ValueError:  # a quote without its end: the shell has said so
        words = argv[2].split()
    entered = (directory / to for command, to in itertools.pairwise(words) if command == "cd")
    return words, (directory, *entered)


def _absent(names: Iterable[str], places: Sequence[Path]) -> tuple[str, ...]:
    absent = (
        name
        for name in names
        if not name.endswith(_HEADERS)
        and not any((place / Path(name).expanduser()).exists() for place in places)
    )
    return tuple(itertools.islice(dict.fromkeys(absent), _MOST))


def missing_commands(output: str) -> tuple[str, ...]:
    """The programs that a shell which the program started did not find."""
    return tuple(dict.fromkeys(_NO_COMMAND.findall(output)))


def _in_words(words: Sequence[str], path: re.Pattern[str]) -> Iterator[str]:
    for word in words:
        value = word.rpartition("=")[2] if word.startswith("-") else word
        if path.fullmatch(value):
            yield value


def _in_text(text: bytes) -> Iterator[str]:
    for literal in _LITERAL.finditer(_WRITTEN.sub(b"", _INCLUDE.sub(b"", _COMMENT.sub(b" ", text)))):
        value = literal[1].decode("utf-8", "replace")
        if _PATH.fullmatch(value):
            yield value
