"""Builds a project with its own build command, in a copy of its tree that hipscope keeps in the user's cache.

The user's tree is never written to, and a build there that is older, for another GPU or without debug information does
not get in the way. The copy is brought up to date file by file, so the project's own build stays incremental. There are
several copies, each built for itself: one of what is on disk, and one for unsaved texts or a candidate; two of these
where a build is short, as what later candidates are held against is a candidate that was accepted. None is a copy
of another, because builds write down the absolute paths of what they read.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import json
import os
import shutil
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from hipscope.analysis.build_files.proposal import left_outside
from hipscope.analysis.build_files.rocm_folder import STAND_INS, absent_roots, stand_ins
from hipscope.analysis.errors import BuildFailed
from hipscope.analysis.run import Run
from hipscope.analysis.system.directories import cache_directory, locked, write_atomically
from hipscope.analysis.system.process import run_process
from hipscope.analysis.system.sandbox import (
    Box,
    beside_system,
    paths_in,
    plain_environment,
    run_confined,
    tool_directories,
)
from hipscope.analysis.toolchain.compile_commands import recorded_units
from hipscope.analysis.toolchain.compiler_files import compiler_variables
from hipscope.analysis.toolchain.compiler_messages import build_error
from hipscope.analysis.toolchain.discovery import Toolchain
from hipscope.analysis.toolchain.project import Project
from hipscope.emulator.runner import EmulatorOptions, emulator_environment

_SKIPPED_DIRECTORIES = {
    ".git",
    ".hg",
    ".svn",
    ".hipscope",
    ".venv",
    "node_modules",
    "__pycache__",
    "CMakeFiles",
}
_SKIPPED_SUFFIXES = (".o", ".obj", ".d", ".pyc")
_DONE, _TEXTS = "done.json", "texts.json"
_RULES = "2"  # how copies are brought up to date: those of other rules may hold objects of older headers
_SHORT_S = 15.0  # of a build: a second copy for candidates costs one more
_LINKED_FROM_BYTES = 32 * 1024 * 1024


@dataclass(frozen=True)
class BuildTree:
    """A built copy of a project: of `root` in `directory`, where commands are started in `start`.

    `record` holds one file per compiler call, as `from_record` reads them.
    """

    root: Path
    directory: Path
    start: Path
    record: Path
    seconds: float
    output: str
    cached: bool

    @functools.cached_property
    def units(self) -> Mapping[Path, frozenset[Path]]:
        """The user's files that were compiled, each with what it included; empty where no compiler call was seen."""
        recorded = recorded_units(self.record)
        return {
            self._of_the_user(file): frozenset(map(self._of_the_user, included))
            for file, included in recorded.items()
        }

    def _of_the_user(self, path: Path) -> Path:
        """The file of the user's tree that a file of this copy stands for."""
        return self.root / path.relative_to(self.directory) if path.is_relative_to(self.directory) else path

    def path_of(self, path: Path) -> Path:
        """Where a file of the user's tree is in this copy; files outside the tree are where they are."""
        return self.directory / path.relative_to(self.root) if path.is_relative_to(self.root) else path


def build_in_tree(
    project: Project,
    toolchain: Toolchain,
    run: Run,
    *,
    confined: bool = False,
) -> BuildTree:
    """Bring the copy up to date and run the build command, unless nothing changed since it last succeeded.

    Files are copied as they are on disk, whatever they hold, but for the run's unsaved texts.

    Raises `BuildFailed` with the messages of the compiler, which name the user's files.
    """
    home = project.directory
    build = project.config.build
    assert build is not None
    searched = compiler_variables(project.config.env)
    variables = json.dumps({**project.config.env, **searched}, sort_keys=True)
    settings = [toolchain.identity, STAND_INS, _RULES, build, variables]
    identity = hashlib.sha256("\0".join([str(project.root), str(home), *settings]).encode()).hexdigest()[:16]
    place = Path(os.path.realpath(cache_directory())) / "trees" / f"{home.name}-{identity}"
    overlay = run.texts.unsaved
    with locked(place / "lock"):
        slot = _slot_of(place, overlay)
        tree = slot / "tree"
        start = tree / home.relative_to(project.root)
        content, changed = _bring_up_to_date(project, tree, slot / "state.json", overlay)
        _renew_what_included([tree / name for name in changed], tree, slot / "record")
        done = slot / _DONE
        with contextlib.suppress(OSError, ValueError, KeyError):
            last = json.loads(done.read_text())
            if last["content"] == content:
                seconds, output = last["seconds"], last["output"]
                return BuildTree(project.root, tree, start, slot / "record", seconds, output, cached=True)
        done.unlink(missing_ok=True)
        environment = _environment(project, toolchain, slot)
        argv, timeout = ["/bin/sh", "-c", build], project.config.build_timeout_s
        named = _absent_rocm(project, toolchain, slot, build)
        if confined:
            box = Box(
                read=(
                    *(project.folders or (project.root,)),
                    *paths_in([*toolchain.hip_flags, str(toolchain.clang)]),
                    *toolchain.library_dirs,
                    *paths_in(searched.values()),
                    *tool_directories(environment["PATH"]),
                    *{Path(sys.prefix), Path(sys.base_prefix)},  # what stands in for hipify
                    *project.config.optimize.read_paths,
                ),
                write=(slot,),
                shown=named,
            )
            ours = {name: value for name, value in environment.items() if os.environ.get(name) != value}
            kept = {**searched, **ours}
            completed = run_confined(
                argv, box, timeout=timeout, cwd=start, env=plain_environment(kept), cancel=run.cancel
            )
        else:
            completed = run_process(
                beside_system(argv, named), timeout=timeout, cwd=start, env=environment, cancel=run.cancel
            )
        output = completed.text.replace(str(tree), str(project.root))
        if completed.timed_out:
            raise BuildFailed(
                f"`{build}` took longer than {project.config.build_timeout_s:g} s",
                "raise `build_timeout_s` in hipscope.toml",
                output=output,
            )
        if not completed.ok:
            subject = f"`{build}` in {home}"
            failure = build_error(subject, output, tree, toolchain, returncode=completed.returncode)
            if isinstance(failure, BuildFailed) and not project.folders and _lacks_a_file(failure):
                failure.hint = left_outside(home, toolchain.calls) or failure.hint
            raise failure
        result = {"content": content, "seconds": completed.seconds, "output": output}
        write_atomically(done, json.dumps(result).encode())
    return BuildTree(project.root, tree, start, slot / "record", completed.seconds, output, cached=False)


def _slot_of(place: Path, overlay: Mapping[Path, bytes]) -> Path:
    """Where the project is built with these texts: for candidates where they were built last, else where the oldest
    ones were.
    """
    base = place / "base"
    if not overlay:
        return base
    slots = [place / "candidate"]
    with contextlib.suppress(OSError, ValueError, KeyError):
        if json.loads((base / _DONE).read_text())["seconds"] <= _SHORT_S:
            slots.append(place / "another_candidate")
    texts = hashlib.sha256()
    for path, text in sorted(overlay.items()):
        texts.update(f"{path}\0{len(text)}\0".encode() + text)
    used = {slot: _used(slot) for slot in slots}
    slot = next((s for s in slots if used[s][1] == texts.hexdigest()), min(slots, key=lambda s: used[s]))
    slot.mkdir(parents=True, exist_ok=True)
    write_atomically(slot / _TEXTS, json.dumps([time.time(), texts.hexdigest()]).encode())
    return slot


def _used(slot: Path) -> tuple[float, str]:
    """When a copy was last asked for, and a digest of its unsaved texts."""
    try:
        when, texts = json.loads((slot / _TEXTS).read_text())
        return float(when), str(texts)
    except (OSError, ValueError, TypeError):
        return 0.0, ""


def _lacks_a_file(failure: BuildFailed) -> bool:
    """Whether a build failed for something else than mistakes in texts: those are told as they are."""
    errors = [one.message for one in failure.diagnostics if one.severity == "error"]
    return not errors or any("file not found" in message for message in errors)


def _renew_what_included(changed: Sequence[Path], tree: Path, record: Path) -> None:
    """Make the sources of the tree new whose last compile included a file that has changed.

    A Makefile need not say that its objects depend on it: they would be those of the older text.
    """
    places = {os.path.realpath(path) for path in changed}
    for source, included in (recorded_units(record) if places else {}).items():
        real = Path(os.path.realpath(source))
        if real.is_relative_to(tree) and not places.isdisjoint(map(os.path.realpath, included)):
            os.utime(real)


def _bring_up_to_date(
    project: Project, tree: Path, state_file: Path, overlay: Mapping[Path, bytes]
) -> tuple[str, list[str]]:
    """Make `tree` hold what the project and `overlay` hold; gives a digest of all of it, and the names that changed.

    A file that is copied for the first time keeps its time, as the project's own rules compare times; one that
    replaces another is new.
    """
    root = project.root
    state: dict[str, list[int | str]] = {}
    with contextlib.suppress(OSError, ValueError):
        state = json.loads(state_file.read_text())
    texts = {str(path.relative_to(root)): data for path, data in overlay.items() if path.is_relative_to(root)}
    fresh: dict[str, list[int | str]] = {}
    for path in (file for folder in project.folders or (root,) for file in _files(folder)):
        name = str(path.relative_to(root))
        status = path.lstat()
        known = state.get(name)
        data = texts.get(name)
        if data is None and known is not None and known[:2] == [status.st_size, status.st_mtime_ns]:
            fresh[name] = known
            continue
        if data is None and (path.is_symlink() or status.st_size >= _LINKED_FROM_BYTES):
            target = _link_target(path, root)
            _replace_by_link(tree / name, target)
            fresh[name] = [
                status.st_size,
                status.st_mtime_ns,
                f"{target} {status.st_size}:{status.st_mtime_ns}",
            ]
            continue
        body = path.read_bytes() if data is None else data
        digest = hashlib.sha256(body).hexdigest()
        if known is None or known[2] != digest:
            _write(tree / name, body, like=path, keep_time=known is None)
        # The size of an overlaid file is set to one that no file has: the next call must look again.
        fresh[name] = [status.st_size if data is None else -1, status.st_mtime_ns, digest]
    for name in state.keys() - fresh.keys():
        (tree / name).unlink(missing_ok=True)
    write_atomically(state_file, json.dumps(fresh).encode())
    content = json.dumps(sorted((name, row[2]) for name, row in fresh.items()))
    changed = [name for name, row in state.items() if name not in fresh or fresh[name][2] != row[2]]
    return hashlib.sha256(content.encode()).hexdigest(), changed


def _files(directory: Path) -> Iterator[Path]:
    """The files to copy: everything but what a build makes, which the copy makes for itself, and our own cache."""
    for path in sorted(directory.iterdir()) if directory.is_dir() else [directory]:
        if path.is_symlink():
            yield path
        elif path.is_dir():
            if not _is_skipped(path):
                yield from _files(path)
        elif path.is_file() and path.suffix not in _SKIPPED_SUFFIXES and not _is_program(path):
            yield path


def _is_skipped(directory: Path) -> bool:
    return (
        directory.name in _SKIPPED_DIRECTORIES
        or (directory / "CMakeCache.txt").exists()
        or os.path.realpath(directory) == os.path.realpath(cache_directory())  # the copy lies in there
    )


def _is_program(path: Path) -> bool:
    if not os.access(path, os.X_OK) or ".so" in path.suffixes:
        return False
    with path.open("rb") as file:
        return file.read(4) == b"\x7fELF"


def _write(target: Path, body: bytes, *, like: Path, keep_time: bool) -> None:
    target.parent.mkdir(parents=True, exist_ok=True)
    target.unlink(missing_ok=True)
    target.write_bytes(body)
    shutil.copymode(like, target)
    if keep_time:
        status = like.stat()
        os.utime(target, ns=(status.st_atime_ns, status.st_mtime_ns))


def _link_target(path: Path, root: Path) -> str:
    """What a link in the copy points to: for a link inside the tree the same, for everything else the real file."""
    if path.is_symlink():
        target = path.readlink()
        inside = not target.is_absolute() and Path(os.path.normpath(path.parent / target)).is_relative_to(
            root
        )
        return str(target) if inside else str(path.resolve())
    return str(path)


def _replace_by_link(link: Path, target: str) -> None:
    link.parent.mkdir(parents=True, exist_ok=True)
    link.unlink(missing_ok=True)
    link.symlink_to(target)


def _absent_rocm(project: Project, toolchain: Toolchain, slot: Path, build: str) -> Mapping[Path, Path]:
    """The folders of an absent ROCm that the build files name, with the one that stands for it."""
    if toolchain.calls.rocm is not None:
        return {}
    return dict.fromkeys(absent_roots(project.folders or (project.root,), build), slot / "rocm")


def _environment(project: Project, toolchain: Toolchain, slot: Path) -> dict[str, str]:
    """What the build command sees: our compilers, and where there is no ROCm, the folder that stands for it."""
    given = {**os.environ, **project.config.env}
    (slot / "record").mkdir(exist_ok=True)
    names = (slot / "tree", project.root)
    env = given | stand_ins(slot, toolchain.calls, given, record=slot / "record", names=names)
    env["CMAKE_EXPORT_COMPILE_COMMANDS"] = "ON"
    # Compilers that no wrapper stands for, such as g++ for host code, find our headers before the system's older ones.
    for variable in ("C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH"):
        if own := [*toolchain.include_dirs, *filter(None, [toolchain.calls.host_headers])]:
            env[variable] = os.pathsep.join([*map(str, own), *filter(None, [env.get(variable)])])
    # Makefiles whose first target runs the program: what is linked with the emulator's library runs with it.
    if toolchain.rocm_path is None and toolchain.library_dirs:
        env |= emulator_environment(
            EmulatorOptions(objdump=toolchain.objdump, libraries=toolchain.library_dirs), env
        )
    # A real hipcc that is called by its full path at least keeps the source positions.
    env["HIPCC_COMPILE_FLAGS_APPEND"] = (
        f"{env.get('HIPCC_COMPILE_FLAGS_APPEND', '')} -gline-tables-only".strip()
    )
    return env
