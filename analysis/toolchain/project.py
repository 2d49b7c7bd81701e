"""What there is to build and run: one source file with `main`, or whatever `hipscope.toml` describes.

Takes a file or a directory, gives a `Project`. Reads sources only to see that they are text and where `main` is.
"""

from __future__ import annotations

import codecs
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from hipscope.analysis.build_files.source_files import (
    HEADER_SUFFIXES,
    PROGRAM_SUFFIXES,
    has_main,
    is_source,
    not_a_source,
)
from hipscope.analysis.build_files.spoken import run_line
from hipscope.analysis.config import CONFIG_FILE, Config, load_config
from hipscope.analysis.errors import UsageError
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.system.places import place_of
from hipscope.analysis.toolchain.run_command import with_arguments

BuildKind = Literal["single", "command"]

_BUILD_HINT = (
    f"say how to build and run the program with `build` and `run` in {CONFIG_FILE}, or ask `hipscope init`"
)
_SKIPPED = {"node_modules", "__pycache__", "CMakeFiles"}
_MAX_SOURCES = 20_000
_HEAD = 4096  # bytes that say of what kind a file is


class NotAProgram(UsageError):
    """A file or a directory that does not say by itself which program it is; the build files beside it may."""


@dataclass(frozen=True)
class Project:
    """One program. `root` is the directory that holds all that is its own.

    With `source_dirs` beside its `hipscope.toml`, `root` is the directory above all of them, and of what lies there
    only the `folders` belong to it; without `folders` all does.
    `sources` are what may belong to it until it is built, then what the build read; `compiled` are those of them that
    the compiler was called for, None before the build or where no call was seen. `subject` is the user's file where
    `main_source` was generated to run its kernels: that includes it, and is no source of the user's. `extract` gives
    what the compiler sees of it, with each byte that is left out a blank; None: all. `build_note` is a sentence for the
    user about a build that no `hipscope.toml` names.
    """

    root: Path
    main_source: Path | None
    sources: tuple[Path, ...]
    config: Config
    program_args: tuple[str, ...]
    build_kind: BuildKind
    compiled: frozenset[Path] | None = None
    home: Path | None = None
    folders: tuple[Path, ...] = ()
    subject: Path | None = None
    extract: Callable[[bytes], bytes] | None = None
    build_note: str | None = None

    @property
    def own_source(self) -> Path | None:
        """The user's file that the program is made of: `main_source`, unless that was generated."""
        return self.subject or self.main_source

    @property
    def directory(self) -> Path:
        """Where its commands are started: that of its `hipscope.toml`, or of its only source."""
        return self.home or self.root

    @property
    def headers(self) -> tuple[Path, ...]:
        """The sources that others include: all that are not compiled themselves, or before a build, by their names."""
        if self.compiled is not None:
            return tuple(path for path in self.sources if path not in self.compiled)
        return tuple(path for path in self.sources if path.suffix in HEADER_SUFFIXES)


def resolve_project(
    target: Path,
    program_args: Sequence[str] = (),
    config: Config | None = None,
    texts: SourceTexts | None = None,
) -> Project:
    """The project that a file or a directory belongs to, as it is in the given texts.

    A `hipscope.toml` beside the target or above it decides (as far up as the repository it is in), where the target
    really lies: `..` and links lead there. Without one, or without `build` in it, the program is a single source file.
    `config` replaces what would be read from disk.
    `program_args` stand in place of those of `args` and of `run`; of one source without a `build` its own
    `// hipscope: run ...` line comes next.
    Raises `UsageError`: no such file, no `main`, several, empty, or not text.
    """
    texts, place = texts or SourceTexts(), place_of(target, CONFIG_FILE)
    target, home = place.path, place.holder
    if not target.exists():
        raise UsageError(f"{target}: no such file or directory")
    if not (target.is_file() or target.is_dir()):
        raise UsageError(f"{target}: neither a file nor a directory")
    if target.is_file():
        _check_kind(target)
    start = target if target.is_dir() else target.parent
    settings = config if config is not None else load_config(home or start)
    arguments = tuple(program_args) or tuple(settings.args)
    if settings.build is not None:
        return command_project(
            home or start, settings, target if target.is_file() else None, program_args, texts
        )
    main = target if target.is_file() else _only_program(target, home, texts)
    settings = _with_flags_for(main, home, settings)
    text = read_source(main, texts)
    if main.suffix in HEADER_SUFFIXES:
        raise NotAProgram(f"{main}: a header is not a program", _bench_hint(text) + _BUILD_HINT)
    if not has_main(text):
        hint = _bench_hint(text) or "add one, or "
        raise NotAProgram(f"{main}: no `main` function", hint + _BUILD_HINT)
    if not program_args and (said := said_arguments(main, text)) is not None:
        arguments = said
    return Project(main.parent, main, (main,), settings, arguments, "single")


def said_arguments(source: Path, text: str) -> tuple[str, ...] | None:
    """The arguments that a source's own `// hipscope: run ...` names; None without one. Raises UsageError."""
    found = run_line(text)
    if found is None:
        return None
    if found.arguments is None:
        raise UsageError(
            f"{source}:{found.said.line}: `hipscope: run`: a quote has no end", "close the quote"
        )
    return found.arguments


def command_project(
    home: Path,
    settings: Config,
    main: Path | None,
    program_args: Sequence[str] = (),
    texts: SourceTexts | None = None,
) -> Project:
    """The program that the `build` of these settings makes in a directory. `main` is the file that was asked for.

    Raises UsageError: a folder of `source_dirs` that is not there, or a file that is not text.
    """
    arguments = tuple(program_args) or tuple(settings.args)
    if program_args and settings.run is not None:
        run = with_arguments(settings.run, program_args)
        settings, arguments = settings.model_copy(update={"run": run}), ()
    if any(".." in Path(name).parts for name in settings.source_dirs):
        # The copies of these folders lie to each other as their names say: no link may stand in between.
        home, main = home.resolve(), None if main is None else main.resolve()
    if main is not None:
        read_source(main, texts or SourceTexts())
    sources = tuple(find_sources(home, settings))
    folders = _folders(home, settings)
    above = Path(os.path.commonpath(_directories(folders))) if folders else home
    return Project(above, main, sources, settings, arguments, "command", home=home, folders=folders)


def file_settings(file: Path, config: Config | None = None) -> Config:
    """The settings for one source file: those of the nearest `hipscope.toml` unless given, with flags that hold there.

    Raises UsageError.
    """
    place = place_of(file, CONFIG_FILE)
    settings = config if config is not None else load_config(place.holder or place.path.parent)
    return _with_flags_for(place.path, place.holder, settings)


def settings_directory(target: Path) -> Path | None:
    """Where the `hipscope.toml` is that decides about a file or directory; None when there is none."""
    return place_of(target, CONFIG_FILE).holder


def _with_flags_for(file: Path, home: Path | None, settings: Config) -> Config:
    if home is None or home == file.parent:
        return settings
    return settings.model_copy(update={"flags": _found_from(home, file.parent, settings.flags)})


def resolve_config(target: Path) -> Config:
    """The settings that apply to a file or directory, the defaults when there is no hipscope.toml."""
    place = place_of(target, CONFIG_FILE)
    start = place.path if place.path.is_dir() else place.path.parent
    return load_config(place.holder or start)


def read_source(path: Path, texts: SourceTexts) -> str:
    """The text of a source file. What is not UTF-8 is the compiler's affair, which takes it in comments.

    Raises `UsageError` when it is empty, unreadable or no text.
    """
    data = texts.needed(path)
    check_source(path, data)
    return data.decode("utf-8", "replace")


def _check_kind(path: Path) -> None:
    """Raises `UsageError` for a file of another kind than a source, with what can be done with it."""
    if is_source(path):
        return
    try:
        with path.open("rb") as stream:
            found = not_a_source(path, stream.read(_HEAD))
    except OSError as error:
        raise UsageError(f"{path}: {error.strerror}") from error
    if found is not None:
        raise UsageError(f"{path}: {found[0]}", found[1])


def check_source(path: Path, data: bytes) -> None:
    """Raises `UsageError` for what no compiler takes for a source; bytes that are not UTF-8 are its affair."""
    name = os.fsencode(path).decode("utf-8", "replace")
    if "\ufffd" in name:
        raise UsageError(f"{name}: its name is not UTF-8", "rename it, or its folder")
    if "\\" in str(path):
        raise UsageError(f"{path}: compilers read the `\\` in its name as `/`", "rename it, or its folder")
    if not data.strip():
        raise UsageError(f"{path}: the file is empty")
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        raise UsageError(f"{path}: the file is UTF-16, which compilers do not read", "save it as UTF-8")
    if b"\0" in data:
        raise UsageError(f"{path}: not a source file (it holds NUL bytes)")


def find_sources(root: Path, config: Config) -> Iterator[Path]:
    """The sources and headers below `source_dirs`, sorted. Raises `UsageError` for one that is not there."""
    seen: set[Path] = set()
    for name in config.source_dirs:
        place = Path(os.path.normpath(root / name))
        if not place.exists():
            raise UsageError(f"{root / CONFIG_FILE}: source_dirs: {place} is neither a directory nor a file")
        for path in _walk(place) if place.is_dir() else (place,):
            if path.suffix in PROGRAM_SUFFIXES + HEADER_SUFFIXES and path not in seen:
                seen.add(path)
                if len(seen) > _MAX_SOURCES:
                    raise UsageError(
                        f"{place}: more than {_MAX_SOURCES} source files",
                        "narrow `source_dirs` in hipscope.toml",
                    )
                yield path


def _folders(home: Path, config: Config) -> tuple[Path, ...]:
    """The directory of the settings and what `source_dirs` names, when some of that lies outside of it; else none."""
    named = {Path(os.path.normpath(home / name)) for name in config.source_dirs} | {home}
    if all(path.is_relative_to(home) for path in named):
        return ()
    return tuple(sorted(p for p in named if not any(p != q and p.is_relative_to(q) for q in named)))


def _directories(folders: Iterable[Path]) -> list[Path]:
    """The same with the directory of each that is a single file."""
    return [path if path.is_dir() else path.parent for path in folders]


def _found_from(home: Path, source_directory: Path, flags: Sequence[str]) -> list[str]:
    """Flags of a hipscope.toml above the source: folders of headers are looked for from where it stands, too."""
    found: list[str] = []
    for previous, flag in zip(("", *flags), flags, strict=False):
        glued = next((o for o in _INCLUDING if flag.startswith(o) and flag != o), "")
        option = "" if previous in _INCLUDING else glued
        path = flag.removeprefix(option)
        names_path = bool(option) or previous in _INCLUDING
        there = names_path and (home / path).exists() and not (source_directory / path).exists()
        found.append(f"{option}{home / path}" if there else flag)
    return found


_INCLUDING = ("-I", "-isystem", "-iquote", "-include")


def _only_program(directory: Path, home: Path | None, texts: SourceTexts) -> Path:
    candidates = [
        path for path in sorted(directory.iterdir()) if path.suffix in PROGRAM_SUFFIXES and path.is_file()
    ]
    programs = [path for path in candidates if _defines_main(path, texts)]
    if len(programs) == 1:
        return programs[0]
    if not candidates:
        kinds = ", ".join(PROGRAM_SUFFIXES)
        config = f"no {CONFIG_FILE}" if home is None else f"no `build` in {home / CONFIG_FILE}"
        raise NotAProgram(f"{directory}: no source file ({kinds}) and {config}", _BUILD_HINT)
    if not programs:
        raise NotAProgram(
            f"{directory}: no source file here has a `main` function", f"add one, or {_BUILD_HINT}"
        )
    raise NotAProgram(
        f"{directory}: {len(programs)} programs ({_names(programs)})",
        f"name one of them, or {_BUILD_HINT}",
    )


def _defines_main(path: Path, texts: SourceTexts) -> bool:
    try:
        return has_main(read_source(path, texts))
    except UsageError:
        return False


def _walk(directory: Path) -> Iterator[Path]:
    for path in sorted(directory.iterdir()):
        if path.is_dir():
            if not path.name.startswith(".") and path.name not in _SKIPPED and not path.is_symlink():
                yield from _walk(path)
        elif path.is_file():
            yield path


def _names(paths: Iterable[Path]) -> str:
    names = [path.name for path in paths]
    return ", ".join(names[:4]) + (", ..." if len(names) > 4 else "")


def _bench_hint(text: str) -> str:
    """The beginning of what to do about a source without `main`: one with kernels may have benches."""
    if "__global__" not in text:
        return ""
    return "write `// hipscope: bench KERNEL grid=... block=... x=[n]:normal n=1024` above a kernel, or "
