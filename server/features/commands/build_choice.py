"""One question instead of a `hipscope.toml`, before the first build of a folder whose build files make the program.

*Use it* writes these settings by `workspace/applyEdit`, so Undo takes them back; *Edit* does so and leaves them to be
changed; *Only this file* compiles the source alone from then on. Asked once for each folder, and again by
`hipscope.server.chooseBuild`. For who does not answer the source is built alone, else as the build files say.
"""

from __future__ import annotations

import asyncio
from pathlib import Path

from lsprotocol import types as lsp

from hipscope.server.features.commands.settings_edit import saved, write_new
from hipscope.server.jobs.jobs import JobFailed, JobStopped, run_worker
from hipscope.server.reports.report_reader import read_builds
from hipscope.server.reports.schema.builds import ProposedBuild
from hipscope.server.reports.schema.fields import RecordMismatch
from hipscope.server.session.build_choices import BuildChoice, choice_of, keep_choice
from hipscope.server.session.known_profiles import SOURCES, settings_files
from hipscope.server.session.language_server import HipServer, show_file
from hipscope.server.session.permission import may_run
from hipscope.server.session.project_job import job_request

CHOICES: dict[str, BuildChoice] = {"Use it": "use", "Edit": "edit", "Only this file": "alone"}
_LABEL = "hipscope: how the program is built and run"
WHEN_SAVED = "save hipscope.toml to build and profile with it"


async def settle_build(ls: HipServer, key: Path, uri: str, *, asked: bool) -> bool:
    """Ask how a source is built that has not been asked about, where its build files say so. Whether to go on now.

    False where settings were written that count, and are profiled with, when the user saves them.
    """
    folder = key.parent
    if key.suffix not in SOURCES or choice_of(folder) is not None or folder in ls.asked_builds:
        return True
    if not ls.can_ask or (folder / "hipscope.toml").exists() or not _has_build_files(folder):
        return True
    if not await may_run(ls, key, asked=asked):
        return True  # the job says so
    ls.asked_builds.add(folder)
    try:
        return await choose_build(ls, key, uri)
    finally:
        ls.asked_builds.discard(folder)


async def choose_build(ls: HipServer, key: Path, uri: str) -> bool:
    """Ask how a source is built, asked before or not; whether it can be profiled now."""
    build = await _proposed(ls, key, uri)
    if build is None:
        return True
    keep_choice(key.parent, "none")  # of two programs in it, one asks
    question = lsp.ShowMessageRequestParams(
        type=lsp.MessageType.Info,
        message=f"hipscope: {key.name} builds with `{build.build}` and runs `{build.run}`, as {build.origin} says.",
        actions=[lsp.MessageActionItem(title=title) for title in CHOICES],
    )
    # Shielded: the client may still answer after the command was cancelled.
    chosen = await asyncio.shield(asyncio.ensure_future(ls.window_show_message_request_async(question)))
    choice = CHOICES.get(chosen.title) if chosen is not None else None
    if choice is None:
        return True
    keep_choice(key.parent, choice)
    file = key.parent / "hipscope.toml"
    if choice == "alone" or not await write_new(ls, file, build.settings, _LABEL):
        return True
    ls.store.fail(
        str(key), (), map(str, settings_files(key, ls.folders()))
    )  # a save of them begins the profile
    ls.status("idle", WHEN_SAVED)
    if choice == "edit":
        await show_file(ls, file)
        return False
    return await saved(ls, file, bool)


def _has_build_files(folder: Path) -> bool:
    from hipscope.analysis.build_files.proposal import build_files

    return bool(build_files(folder))


async def _proposed(ls: HipServer, key: Path, uri: str) -> ProposedBuild | None:
    """The build that make or CMake gives the source first; None where there is none, or they cannot be asked."""
    ls.status("profiling", "asking the build files")
    try:
        data = await run_worker(job_request(ls, "builds", key, uri), lambda _message, _share: None)
        found = read_builds(data).builds
    except (JobFailed, JobStopped, RecordMismatch):
        return None
    return next((one for one in found[:1] if one.build is not None and one.settings), None)
