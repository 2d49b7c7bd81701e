"""Opens captures that were made elsewhere: reads them, and puts their sources onto the files of this machine.

Takes files or folders and the folders of the project, gives the Profile, the texts that were profiled, and the files of
the capture that hold some of them. Nothing is built or run.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

from hipscope.analysis.config import Config
from hipscope.analysis.errors import HipscopeError
from hipscope.analysis.ingest import read_captures
from hipscope.analysis.ingest.code_lines import ProgramCode
from hipscope.analysis.ingest.snapshots import Snapshots
from hipscope.analysis.metrics.line_costs import is_foreign
from hipscope.analysis.profile import Frame, Kernel, Profile
from hipscope.analysis.run import Run
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.system.directories import work_directory
from hipscope.analysis.toolchain.code_object import gpu_images
from hipscope.analysis.toolchain.discovery import find_toolchain

_MOST_FILES = 200_000  # of a project; a home directory is no project
_SHOWN = 3
_SKIPPED = frozenset({"node_modules", "__pycache__", "build"})
_NO_PROGRAMS = frozenset({"node_modules", "__pycache__"})
_PROGRAMS = frozenset({"", ".so", ".o", ".out", ".exe", ".hsaco", ".co", ".elf", ".bin"})
_LARGEST_PROGRAM = 1 << 30


@dataclass(frozen=True)
class OpenedCapture:
    """A Profile whose sources are files of this machine where they were found.

    `texts` hold the sources as they were profiled; `copies` name the file of the capture that such a text is from.
    """

    profile: Profile
    texts: SourceTexts
    copies: Mapping[str, str]


def open_captures(paths: Sequence[Path], roots: Sequence[Path], run: Run) -> OpenedCapture:
    """Read captures as one profile. Raises `UsageError` when there is nothing in them that can be read."""
    run.say("reading the capture")
    profile = read_captures(paths, run.texts, _programs(roots, run))
    run.check()
    snapshots = Snapshots.below(paths)
    beside = tuple(path for path in paths if path.is_dir())
    placing = _Placing((tuple(roots), beside), snapshots, run.texts)
    wanted = _last_lines(profile)
    run.say("looking for its sources")
    places = {
        file: place for file, last in wanted.items() if (place := placing.place(file, last)) is not None
    }
    texts, copies = run.texts, {}
    for file in wanted:
        copy = snapshots.copy_of(file)
        here = places.get(file, file)
        text = copy.read_bytes() if copy is not None else None
        if copy is not None and text is not None and text != run.texts.read(here):
            texts = texts.replacing(Path(here), text)
            copies[os.path.realpath(here)] = str(copy)
    notes = (*profile.notes, *placing.notes)
    return OpenedCapture(moved(profile, places).model_copy(update={"notes": notes}), texts, copies)


def moved(profile: Profile, places: Mapping[str, str]) -> Profile:
    """The profile with files of this machine in place of those of the capturing one."""
    if all(file == place for file, place in places.items()):
        return profile
    frames: dict[Frame, Frame] = {}

    def frame(old: Frame) -> Frame:
        if old not in frames:
            frames[old] = old.model_copy(update={"file": places.get(old.file, old.file)})
        return frames[old]

    def kernel(old: Kernel) -> Kernel:
        instructions = tuple(
            i.model_copy(update={"source": tuple(frame(f) for f in i.source)}) for i in old.instructions
        )
        file = places.get(old.file, old.file) if old.file else None
        return old.model_copy(update={"file": file, "instructions": instructions})

    faults = tuple(f.model_copy(update={"source": tuple(map(frame, f.source))}) for f in profile.faults)
    return profile.model_copy(update={"kernels": tuple(map(kernel, profile.kernels)), "faults": faults})


@dataclass
class _Placing:
    """Finds a file of the capturing machine by the longest end of its path: in the project, else beside the capture."""

    roots: tuple[tuple[Path, ...], ...]
    snapshots: Snapshots
    texts: SourceTexts
    notes: list[str] = field(default_factory=list)
    _named: list[dict[str, list[Path]]] | None = None

    def place(self, file: str, last_line: int) -> str | None:
        """The file here; None, with a note, where it is not found or several could be it."""
        if self.texts.read(file) is not None:
            return file
        parts = PurePosixPath(file.replace("\\", "/")).parts
        found = [p for p in self._candidates(parts[-1]) if len(self.texts.lines(p)) >= last_line]
        most = max((_same_end(p.parts, parts) for p in found), default=0)
        best = [p for p in found if _same_end(p.parts, parts) == most]
        if len(best) > 1 and (copy := self.snapshots.copy_of(file)) is not None:
            text = copy.read_bytes()
            best = [p for p in best if self.texts.read(p) == text] or best
        if len(best) > 1:
            shown = ", ".join(str(p) for p in best[:_SHOWN]) + (" ..." if len(best) > _SHOWN else "")
            self.notes.append(
                f"{file}: {len(best)} files here could be it ({shown}); name its folder: --source-root"
            )
            return None
        if not best:
            self.notes.append(f"{file}: not found here; name the folder of its project: --source-root")
            return None
        return os.path.realpath(best[0])

    def _candidates(self, name: str) -> Sequence[Path]:
        if self._named is None:
            self._named = []
            for folders in self.roots:
                named: dict[str, list[Path]] = {}
                for path in _files(folders, self.notes):
                    named.setdefault(path.name, []).append(path)
                self._named.append(named)
        return next((named[name] for named in self._named if name in named), ())


def _files(roots: Sequence[Path], notes: list[str]) -> Iterator[Path]:
    """The files below the folders, each once; without hidden folders and those that builds make."""
    seen: set[str] = set()
    number = 0
    for root in roots:
        for folder, folders, files in os.walk(root):
            folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _SKIPPED)
            real = os.path.realpath(folder)
            if real in seen:
                folders.clear()
                continue
            seen.add(real)
            number += len(files)
            if number > _MOST_FILES:
                notes.append(f"{root}: more than {_MOST_FILES:,} files, not all were looked at for sources")
                return
            yield from (Path(folder, name) for name in files)


def _programs(roots: Sequence[Path], run: Run) -> Iterator[ProgramCode]:
    """The GPU code of programs, libraries and objects in the project's folders, those that builds make among them."""
    try:
        bundler = find_toolchain(Config()).offload_bundler
    except HipscopeError:
        bundler = Path("clang-offload-bundler")  # which only compressed bundles need
    with work_directory("code") as scratch:
        copy = scratch / "object"
        for path in _binaries(roots):
            run.check()
            try:
                images = gpu_images(path, bundler)
            except (HipscopeError, OSError):
                continue  # no GPU code that can be read is in it
            for _, image in images:
                copy.write_bytes(image)
                yield ProgramCode(path, copy)


def _binaries(roots: Sequence[Path]) -> Iterator[Path]:
    number = 0
    for root in roots:
        for folder, folders, files in os.walk(root):
            folders[:] = sorted(f for f in folders if not f.startswith(".") and f not in _NO_PROGRAMS)
            number += len(files)
            if number > _MOST_FILES:
                return
            for path in (Path(folder, name) for name in sorted(files)):
                if path.suffix in _PROGRAMS and path.is_file() and _is_elf(path):
                    yield path


def _is_elf(path: Path) -> bool:
    try:
        with path.open("rb") as stream:
            return stream.read(4) == b"\x7fELF" and path.stat().st_size < _LARGEST_PROGRAM
    except OSError:
        return False


def _same_end(here: Sequence[str], there: Sequence[str]) -> int:
    """How many names at the end of two paths are the same."""
    number = 0
    for a, b in zip(reversed(here), reversed(there), strict=False):
        if a != b:
            break
        number += 1
    return number


def _last_lines(profile: Profile) -> dict[str, int]:
    """The files of the user's that the profile names, with the last line that it names of each."""
    last: dict[str, int] = {}
    frames = [f for k in profile.kernels for i in k.instructions for f in i.source]
    frames += [f for fault in profile.faults for f in fault.source]
    for frame in frames:
        if not is_foreign(frame.file):
            last[frame.file] = max(last.get(frame.file, 0), frame.line)
    for kernel in profile.kernels:
        if kernel.file and not is_foreign(kernel.file):
            last.setdefault(kernel.file, kernel.line or 1)
    return last
