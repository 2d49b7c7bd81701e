"""A program as it can be built: a source that does not build alone is built as the build files beside it say.

Takes what a command was given, gives a `Project`. Nothing is written beside the source. What was found out is kept in
the cache with a digest of the build files, so that the next save asks neither make nor CMake again.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

from hipscope.analysis.benches.project import resolve_benched
from hipscope.analysis.build_files.nearby_headers import elsewhere, folders_with
from hipscope.analysis.build_files.proposal import BuildProposal, build_files, propose_builds
from hipscope.analysis.build_files.rocm_folder import STAND_INS
from hipscope.analysis.build_files.source_files import HEADER_SUFFIXES, PROGRAM_SUFFIXES
from hipscope.analysis.config import Config
from hipscope.analysis.errors import BuildFailed, UsageError
from hipscope.analysis.run import Run
from hipscope.analysis.runs.try_build import project_of
from hipscope.analysis.system.directories import cache_directory, write_atomically
from hipscope.analysis.system.places import named
from hipscope.analysis.toolchain.build import build_program
from hipscope.analysis.toolchain.compiler_messages import missing_header
from hipscope.analysis.toolchain.discovery import Toolchain, find_toolchain
from hipscope.analysis.toolchain.project import NotAProgram, Project, resolve_config, said_arguments

_MOST_TRIED = 3


def buildable_project(
    target: Path,
    program_args: Sequence[str] = (),
    config: Config | None = None,
    run: Run | None = None,
    *,
    bench: str | None = None,
    device_flags: Sequence[str] = (),
) -> Project:
    """The project of a target, which was built once: alone, or as its build files say; then it has a `build_note`.

    A target with a `build` of its own, or without build files beside it, is given as it is. `device_flags` are those
    that the caller builds with. Raises what resolving and building do.
    """
    run = run or Run()
    try:
        project = resolve_benched(target, program_args, config, run, bench=bench)
    except NotAProgram as refusal:
        source = named(target)
        given = tuple(program_args) or said_arguments(source, run.texts.text(source) or "") or ()
        asked = _Asked(source, given, config or resolve_config(target), run)
        return _told(asked.instead_of(refusal), run)
    main = project.main_source
    if project.build_kind != "single" or project.subject is not None or main is None:
        return project
    asked = _Asked(main, tuple(project.program_args), project.config, run)
    if not asked.files:
        far = elsewhere(run.texts.text(main) or "", main.parent)
        return _told(asked.with_headers(project, device_flags), run) if far else project
    return _told(asked.alone_or_adopted(project, device_flags), run)


def _told(project: Project, run: Run) -> Project:
    if project.build_note is not None:
        run.tell(project.build_note)
    return project


@dataclass(frozen=True)
class _Known:
    """What is kept: that the target builds alone, or what it is built with, and why not alone."""

    stamp: str
    alone: bool
    proposal: BuildProposal | None = None
    why: str = ""


@dataclass(frozen=True)
class _Asked:
    """A target with the settings of its command."""

    target: Path
    arguments: tuple[str, ...]
    config: Config
    run: Run

    @property
    def directory(self) -> Path:
        """Where its build files are looked for."""
        return self.target if self.target.is_dir() else self.target.parent

    @property
    def files(self) -> list[Path]:
        """The build files beside it."""
        return build_files(self.directory)

    def alone_or_adopted(self, project: Project, device_flags: Sequence[str]) -> Project:
        """The project itself when it builds, else what the build files make of it."""
        toolchain, known = find_toolchain(self.config), self._known()
        if known is not None and known.proposal is not None:
            return self._again(known, toolchain)
        try:
            build_program(project, toolchain, self.run, device_flags=device_flags)
        except BuildFailed as failure:
            if known is not None and not _may_need_others(failure):
                raise
            return self._adopted(failure, failure.message, toolchain)
        if known is None:
            self._keep(_Known(self._stamp(), alone=True))
        return project

    def with_headers(self, project: Project, device_flags: Sequence[str]) -> Project:
        """The project, with the folders of those headers that its source misses and that lie in one place nearby."""
        toolchain, added = find_toolchain(self.config), dict[str, str]()
        while True:
            try:
                build_program(project, toolchain, self.run, device_flags=device_flags)
            except BuildFailed as failure:
                header = missing_header(failure.message)
                places = folders_with(header, self.directory) if header and header not in added else ()
                if header is None or not places:
                    raise
                flags = [f"-I{os.path.relpath(place, self.directory)}" for place in places]
                if len(places) > 1:
                    failure.hint = (
                        f"it lies in more than one; `flags` of hipscope.toml takes one of {', '.join(flags)}"
                    )
                    raise
                added[header] = flags[0]
                config = project.config.model_copy(
                    update={"flags": [*project.config.flags, f"-I{places[0]}"]}
                )
                words = ", ".join(f"`{flag}` for {name}" for name, flag in added.items())
                project = replace(project, config=config, build_note=f"built with {words}")
            else:
                return project

    def instead_of(self, refusal: NotAProgram) -> Project:
        """What the build files make where the target is no program by itself."""
        if not self.files:
            raise refusal
        toolchain, known = find_toolchain(self.config), self._known()
        if known is not None and known.proposal is not None:
            return self._again(known, toolchain)
        return self._adopted(refusal, refusal.message, toolchain)

    def _again(self, known: _Known, toolchain: Toolchain) -> Project:
        """What was built with this before."""
        assert known.proposal is not None
        project = self._project(known.proposal, known.why)
        try:
            build_program(project, toolchain, self.run)
        except BuildFailed as failure:
            if any(one.severity == "error" for one in failure.diagnostics):
                raise
            return self._adopted(failure, known.why, toolchain)
        return project

    def _adopted(self, failure: BuildFailed | UsageError, why: str, toolchain: Toolchain) -> Project:
        """The first proposal that builds. Raises the failure of the last one, or the first failure."""
        self.run.say("asking the build files")
        source = self.target if self.target.suffix in PROGRAM_SUFFIXES else None
        proposals = propose_builds(self.directory, toolchain.calls, source, cancel=self.run.cancel)
        last: BuildFailed | None = None
        for proposal in [one for one in proposals.found if one.build is not None][:_MOST_TRIED]:
            try:
                project = self._project(proposal, why)
                self.run.say("compiling")
                build_program(project, toolchain, self.run)
            except BuildFailed as other:
                alone = "the same alone" if other.message == why else f"alone: {why}"
                other.hint = f"built as {proposal.origin} says, with `{proposal.build}`; {alone}"
                last = last or other
                continue
            self._keep(_Known(self._stamp(), False, proposal, why))
            return project
        if last is not None:
            raise last from None
        if proposals.refused:
            failure.hint = "; ".join(proposals.refused)
        raise failure

    def _project(self, proposal: BuildProposal, why: str) -> Project:
        main = self.target if self.target.is_file() and self.target.suffix not in HEADER_SUFFIXES else None
        project = project_of(self.directory, proposal, self.config, self.arguments)
        words = f"built with `{proposal.build}` and run as `{project.config.run}`, as {proposal.origin} says"
        note = f"{words} ({why}); `hipscope init` writes that into hipscope.toml"
        return replace(project, main_source=main, build_note=note)

    def _stamp(self) -> str:
        """Another one when the build files, the names of the sources or our stand-ins are others."""
        texts = hashlib.sha256(STAND_INS.encode())
        for path in self.files:
            texts.update(f"{path}\0".encode("utf-8", "surrogateescape"))
            with contextlib.suppress(OSError):
                texts.update(hashlib.sha256(path.read_bytes()).digest())
        for name in sorted(p.name for p in self.directory.iterdir() if p.suffix in PROGRAM_SUFFIXES):
            texts.update(f"{name}\0".encode("utf-8", "surrogateescape"))
        return texts.hexdigest()

    @property
    def _place(self) -> Path:
        digest = hashlib.sha256(os.fsencode(self.target)).hexdigest()[:16]
        return cache_directory() / "build_files" / f"{self.target.stem}-{digest}.json"

    def _known(self) -> _Known | None:
        """What was found out of these very build files."""
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            data = json.loads(self._place.read_text())
            if data["stamp"] == self._stamp():
                said = data["proposal"]
                proposal = None
                if said is not None:
                    lists = {name: tuple(said[name]) for name in ("source_dirs", "notes")}
                    proposal = BuildProposal(**{**said, **lists})
                return _Known(data["stamp"], bool(data["alone"]), proposal, str(data["why"]))
        return None

    def _keep(self, known: _Known) -> None:
        self._place.parent.mkdir(parents=True, exist_ok=True)
        write_atomically(self._place, json.dumps(asdict(known)).encode())


def _may_need_others(failure: BuildFailed) -> bool:
    """Whether a source that has been built alone may have come to need other files."""
    return "hipscope.toml" in (failure.hint or "")
