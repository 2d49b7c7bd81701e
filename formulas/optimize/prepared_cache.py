"""The references of every rewrite of a program, made ahead of requests: recorded launches, replayed references.

`prepare_project` profiles a program as "optimize" does and replays its kernels with findings on all that a rewrite is
tried on; all of it goes into the user's cache. `prepared_session` finds it again, as long as everything that it depends
on is the same: the program and what it was built from, the files beside it, settings, environment, compiler, and
hipscope itself. An entry that is not what was written, byte by byte, is removed and not used.
"""

from __future__ import annotations

import contextlib
import fcntl
import hashlib
import itertools
import json
import os
import shutil
import zlib
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from hipscope.accordo.reference.saved import keep_reference
from hipscope.analysis.errors import BuildFailed
from hipscope.analysis.profile import Profile
from hipscope.analysis.profilers.emulator import RECORDED_DISPATCHES
from hipscope.analysis.run import Run
from hipscope.analysis.runs.profile_project import ProfileOptions, ProfileSession, profile_project, program_of
from hipscope.analysis.source.texts import SourceTexts
from hipscope.analysis.system.cores import usable_cores
from hipscope.analysis.system.directories import cache_directory, draft_directory, settle
from hipscope.analysis.system.sandbox import paths_in
from hipscope.analysis.toolchain.build import BuiltProgram, build_program, precompile_headers
from hipscope.analysis.toolchain.discovery import Toolchain, find_toolchain
from hipscope.analysis.toolchain.project import Project
from hipscope.emulator.runner import NativePartsMissing, native_library_dir, replay_executable
from hipscope.formulas.base import Finding
from hipscope.formulas.detect.registry import detect_all
from hipscope.formulas.judge.bench import BASELINE, Bench, CannotJudge, kernel_folder, open_bench
from hipscope.formulas.judge.compile_sweep import sweep
from hipscope.formulas.judge.selection import ask_recipes
from hipscope.formulas.judge.timed_replay import keep_measured

_VERSION = 3
_MANIFEST = "prepared.json"
_RUN = "run"
_PROFILE = "profile.json"
_KEPT_PROGRAMS = 3
_MAX_BYTES = 1 << 30
_MAX_FILES = 4000
_PIECE = 1 << 18  # bytes
_OWN = ("accordo", "analysis", "emulator", "formulas")
_LEFT_OUT = {".git", ".hg", ".svn", ".hipscope", "node_modules", "__pycache__"}
_PASSING = {"_", "SHLVL", "OLDPWD", "PWD"}  # of the environment: other from one shell to the next


def prepare_project(project: Project, run: Run | None = None) -> bool:
    """Prepare the kernels with findings; False when there is nothing to prepare or no way to know when it is stale.

    Raises as `profile_project` does. Nothing is kept when it fails or is cancelled.
    """
    run, toolchain = run or Run(), find_toolchain(project.config)
    built = build_program(project, toolchain, run)
    key = _key(project, toolchain, built, run.texts)
    if key is None or (home := _home(project)).joinpath(key).exists():
        return False
    precompile_headers(project, toolchain, run)
    options = ProfileOptions(backend="emulator", capture_dispatches=(), waves=False)
    session = profile_project(project, run, options=options)
    project, run = program_of(session, project, run)
    config = project.config
    findings = detect_all(session.profile, run.texts, formulas=config.formulas, min_share=config.min_share)
    if not findings:
        shutil.rmtree(session.run_dir, ignore_errors=True)
        return False
    with draft_directory(home) as draft:
        session.run_dir.rename(draft / _RUN)
        (draft / _PROFILE).write_text(session.profile.model_dump_json(), encoding="utf-8")
        session = replace(session, run_dir=draft / _RUN, capture_dir=draft / _RUN / RECORDED_DISPATCHES)
        for name in dict.fromkeys(f.mangled for f in findings):
            here = [f for f in findings if f.mangled == name]
            _prepare_kernel(project, session, name, here, draft, run)
        if key != _key(project, toolchain, built, run.texts) or not _seal(draft, key):
            return False
        settle(draft, home / key)
    _prune(home, key)
    return True


def _prepare_kernel(
    project: Project,
    session: ProfileSession,
    mangled: str,
    findings: Sequence[Finding],
    draft: Path,
    run: Run,
) -> None:
    kernel = session.profile.kernel(mangled)
    if kernel is None:
        return
    folder = draft / kernel_folder(mangled)
    folder.mkdir()
    try:
        with open_bench(project, session, kernel, run, work=folder) as bench:
            keep_measured(bench.baseline, folder / BASELINE)
            keep_reference(bench.reference, folder, draft, run.cancel)
            for finding in findings:
                _compile_answers(bench, finding, run)
    except CannotJudge:
        shutil.rmtree(folder)  # a later request repeats it, with the reason


def _compile_answers(bench: Bench, finding: Finding, run: Run) -> None:
    """Have what the recipes answer compiled, alone and within the program, for the build cache. None of it is run.

    A request for a rewrite runs the recipes, the guard and the look-up again. A build command may run what it has
    built, so it is not called before.
    """
    project, most = bench.project, bench.project.config.optimize.max_attempts
    kept = sweep(bench, ask_recipes(bench, finding).single, run).kept[:most]
    for one in kept if project.build_kind == "single" else ():
        changed = run.replacing(one.candidate.file or bench.source, one.candidate.text)
        with contextlib.suppress(BuildFailed):  # a later request reports it
            build_program(project, bench.session.toolchain, changed, confined=True)


@contextlib.contextmanager
def prepared_session(project: Project, run: Run) -> Iterator[ProfileSession | None]:
    """The recorded run of the program as it is now, with the folder of what was prepared; None when there is none.

    It stays inside of the block. Raises as building does.
    """
    home = _home(project)
    if not home.exists():
        yield None
        return
    toolchain = find_toolchain(project.config)
    built = build_program(project, toolchain, run)
    key = _key(project, toolchain, built, run.texts)
    entry = home / (key or "")
    with _held(entry) if key is not None and entry.is_dir() else contextlib.nullcontext():
        if key is None or not entry.is_dir():
            yield None
            return
        profile = _kept_profile(entry) if _whole(entry, key) else None
        if profile is None:
            shutil.rmtree(entry, ignore_errors=True)
            yield None
            return
        os.utime(home)
        kept = entry / _RUN
        yield ProfileSession(profile, built, toolchain, kept, kept / RECORDED_DISPATCHES, prepared_dir=entry)


def forget(session: ProfileSession) -> None:
    """Remove what was prepared: it turned out not to fit the program any more."""
    if session.prepared_dir is not None:
        shutil.rmtree(session.prepared_dir, ignore_errors=True)


def _home(project: Project) -> Path:
    subject = project.main_source or project.directory
    name = hashlib.sha256(os.fsencode(subject)).hexdigest()[:16]
    return cache_directory() / "prepared" / f"{subject.stem}-{name}"


def _key(project: Project, toolchain: Toolchain, built: BuiltProgram, texts: SourceTexts) -> str | None:
    """Everything that the preparation depends on, in one name; None when that is unknown.

    What a build command reads, only that knows: here it is known by what it has made. `built` is up to date by the same
    rule as for any other run, and everything in the copy of the project where it was made counts, the program as well.
    """
    try:
        tools = [replay_executable(), *sorted(native_library_dir().glob("*.so"))]
    except NativePartsMissing:
        return None
    beside = _below(*(project.folders or (project.root,)))
    made = _below(built.tree) if built.tree != project.root else []
    if beside is None or made is None:
        return None
    package = Path(__file__).resolve().parents[2]
    own = sorted(p for part in _OWN for p in (package / part).rglob("*.py"))
    named = [p for p in paths_in(built.argv[1:]) if p.is_file()]
    parts = {
        "version": _VERSION,
        "program": list(
            built.argv
        ),  # lies in a directory that is named after the contents of all that it is made of
        "directory": str(built.directory),
        "toolchain": toolchain.identity,
        "config": project.config.model_dump(mode="json"),
        "overlay": {str(p): hashlib.sha256(t).hexdigest() for p, t in sorted(texts.unsaved.items())},
        "environment": {k: v for k, v in sorted(os.environ.items()) if k not in _PASSING},
        "files": [_stamp(p) for p in (*tools, *own, *named, *beside, *made)],
    }
    return hashlib.sha256(json.dumps(parts, default=str).encode("utf-8", "surrogateescape")).hexdigest()[:32]


def _below(*roots: Path) -> list[Path] | None:
    """The files of the project, which the program may read; None when there are too many to look at."""
    found: list[Path] = []
    own = os.path.realpath(cache_directory())
    for folder, folders, names in itertools.chain.from_iterable(map(os.walk, roots)):
        folders[:] = sorted(
            name for name in set(folders) - _LEFT_OUT if os.path.realpath(os.path.join(folder, name)) != own
        )
        found += (Path(folder, name) for name in sorted(names))
        if len(found) > _MAX_FILES:
            return None
    return found


def _stamp(path: Path) -> tuple[str, int, int]:
    try:
        status = path.stat()
    except OSError:
        return str(path), -1, -1
    return str(path), status.st_size, status.st_mtime_ns


def _seal(draft: Path, key: str) -> bool:
    """Write down what every file holds; False when they are too large to keep."""
    paths = [p for p in _files(draft) if not p.is_symlink()]
    if sum({(s.st_dev, s.st_ino): s.st_size for s in map(Path.stat, paths)}.values()) > _MAX_BYTES:
        return False
    files = {str(p.relative_to(draft)): check for p, check in zip(paths, _checks(paths), strict=True)}
    body = json.dumps({"version": _VERSION, "key": key, "files": files})
    (draft / _MANIFEST).write_text(json.dumps({"body": body, "crc": zlib.crc32(body.encode())}))
    return True


def _whole(entry: Path, key: str) -> bool:
    """Whether the entry holds what was written, no less and no more."""
    try:
        manifest = json.loads((entry / _MANIFEST).read_text())
        body = json.loads(manifest["body"])
        if manifest["crc"] != zlib.crc32(manifest["body"].encode()) or (body["version"], body["key"]) != (
            _VERSION,
            key,
        ):
            return False
        paths = [p for p in _files(entry) if p.name != _MANIFEST or p.parent != entry]
        if {str(p.relative_to(entry)) for p in paths} != body["files"].keys():
            return False
        return all(
            body["files"][str(p.relative_to(entry))] == check
            for p, check in zip(paths, _checks(paths), strict=True)
        )
    except (OSError, ValueError, KeyError, TypeError):
        return False


def _kept_profile(entry: Path) -> Profile | None:
    """The profile as it was, which takes a fraction of reading the capture again; None when it cannot be read."""
    try:
        return Profile.model_validate_json((entry / _PROFILE).read_bytes())
    except (OSError, ValueError):
        return None


def _files(root: Path) -> list[Path]:
    return sorted(Path(folder, name) for folder, _, names in os.walk(root) for name in names)


def _checks(paths: list[Path]) -> list[list[int]]:
    """Size and CRC-32 of each file; files that several names share are read once."""
    unique = {(s.st_dev, s.st_ino): path for path in paths for s in (path.stat(),)}
    with ThreadPoolExecutor(max_workers=usable_cores()) as pool:
        made = dict(zip(unique, pool.map(_check, unique.values()), strict=True))
    return [made[s.st_dev, s.st_ino] for path in paths for s in (path.stat(),)]


def _check(path: Path) -> list[int]:
    size = crc = 0
    piece = bytearray(_PIECE)  # one for the whole file: new memory costs more than the sum
    with path.open("rb", buffering=0) as file:
        while count := file.readinto(piece):
            size, crc = size + count, zlib.crc32(memoryview(piece)[:count], crc)
    return [size, crc]


@contextlib.contextmanager
def _held(entry: Path) -> Iterator[None]:
    """Keep others from removing the entry."""
    descriptor = os.open(entry, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH)
        yield
    finally:
        os.close(descriptor)


def _prune(home: Path, key: str) -> None:
    """Of each program the newest entry is kept, of programs those that were used last; entries in use stay."""
    for entry in home.iterdir():
        if entry.name != key and not entry.name.startswith("."):
            _remove(entry)
    os.utime(home)
    programs = sorted(home.parent.iterdir(), key=lambda p: p.stat().st_mtime, reverse=True)
    for program in programs[_KEPT_PROGRAMS:]:
        for entry in program.iterdir():
            if not entry.name.startswith("."):  # another process may be filling a draft
                _remove(entry)
        with contextlib.suppress(OSError):
            program.rmdir()


def _remove(entry: Path) -> None:
    with contextlib.suppress(OSError):
        descriptor = os.open(entry, os.O_RDONLY | os.O_DIRECTORY)
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            shutil.rmtree(entry, ignore_errors=True)
        finally:
            os.close(descriptor)
