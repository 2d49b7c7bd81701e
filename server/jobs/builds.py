"""What the build files beside a program say, as a record for the editor.

Asks make and CMake; builds and runs nothing.
"""

from __future__ import annotations

from pathlib import Path

from hipscope.analysis.build_files.proposal import BuildProposal, propose_builds
from hipscope.analysis.build_files.source_files import PROGRAM_SUFFIXES
from hipscope.analysis.run import Run
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import Project, resolve_config
from hipscope.analysis.toolchain.run_command import arguments_in
from hipscope.server.reports.schema.builds import BuildsReport, ProposedBuild


def proposed_builds(target: Path, file: str | None, run: Run) -> BuildsReport:
    """The programs of a directory that are compiled from a file of it, or all: a header or an included source has none.

    Raises HipscopeError.
    """
    directory = target if target.is_dir() else target.parent
    named = Path(file) if file is not None and target.is_dir() else target
    source = named if named.suffix in PROGRAM_SUFFIXES and named.is_relative_to(directory) else None
    run.say("asking the build files")
    calls = find_toolchain(resolve_config(target)).calls
    found = propose_builds(directory, calls, source, cancel=run.cancel)
    if source is not None and target.is_dir() and not any(one.build for one in found.found):
        found = propose_builds(directory, calls, cancel=run.cancel)
    return BuildsReport(str(directory), tuple(map(_record, found.found)), found.refused)


def _record(proposal: BuildProposal) -> ProposedBuild:
    return ProposedBuild(
        proposal.origin,
        proposal.program,
        proposal.build,
        proposal.run,
        arguments_in(proposal.run) if proposal.run is not None else (),
        settings_text(proposal),
    )


def settings_text(proposal: BuildProposal) -> str:
    """The `hipscope.toml` that says the same; nothing for one source that needs no build."""
    if not proposal.lines:
        return ""
    return "\n".join([f"# From {proposal.origin}.", *proposal.lines, ""])


def adopted_settings(project: Project) -> str | None:
    """The `hipscope.toml` that says how a project was built that its build files describe; None where one is there."""
    if project.build_note is None:
        return None
    config = project.config
    outside = tuple(folder for folder in config.source_dirs if folder != ".")
    return settings_text(BuildProposal("its build files", config.build, config.run, source_dirs=outside))
