"""One question instead of a `hipscope.toml`, before the first build of a folder whose build files make the program.

*Use it* writes these settings by `workspace/applyEdit`, so Undo takes them back; *Edit* does so and leaves them to be
changed; *Only this file* compiles the source alone from then on. Asked once for each folder, and again by
`hipscope.server.chooseBuild`. For who does not answer the source is built alone, else as the build files say.
"""

from __future__ import annotations

import itertools
from dataclasses import replace
from pathlib import Path

from lsprotocol import types as lsp

from hipscope.analysis.build_files.source_files import has_main
from hipscope.server.features.commands.settings_edit import saved, write_new
from hipscope.server.jobs.jobs import JobFailed, JobStopped, run_worker
from hipscope.server.reports.report_reader import read_builds
from hipscope.server.reports.schema.builds import ProposedBuild
from hipscope.server.reports.schema.fields import RecordMismatch
from hipscope.server.session.build_choices import BuildChoice, choice_of, home_of, keep_choice
from hipscope.server.session.gpu_sources import is_gpu_source
from hipscope.server.session.known_profiles import SOURCES, settings_files
from hipscope.server.session.language_server import HipServer, show_file
from hipscope.server.session.permission import may_run
from hipscope.server.session.project_job import job_request

CHOICES: dict[str, BuildChoice] = {"Use it": "use", "Edit": "edit", "Only this file": "alone"}
_GLANCES = 64  # files that are looked at for GPU code
_LABEL = "hipscope: how the program is built and run"
_BY_MESON = """\
# Name the program that meson builds, then save this file.
build = "meson setup build && meson compile -C build"
run = "./build/PROGRAM"
"""
WHEN_SAVED = "save hipscope.toml to build and profile with it"


async def settle_build(ls: HipServer, key: Path, uri: str, *, asked: bool) -> bool:
    """Ask how a source is built that has not been asked about, where its build files say so. Whether to go on now.

    False where settings were written that count, and are profiled with, when the user saves them.
    """
    folder = home_of(key, ls.folders())
    if folder is None or choice_of(folder) is not None or folder in ls.asked_builds or not ls.can_ask:
        return True
    if not await may_run(ls, key, asked=asked):
        return True  # the job says so
    ls.asked_builds.add(folder)
    try:
        return await choose_build(ls, key, uri)
    finally:
        ls.asked_builds.discard(folder)


def awaits_build(ls: HipServer, file: Path) -> bool:
    """Whether a save of a source begins with the question: it is GPU code or lies beside some, and has build files.

    GPU code in another folder counts for a source with `main`: nothing in it tells of a kernel that it declares itself.
    """
    home = home_of(file, ls.folders())
    if home is None or choice_of(home) is not None or not ls.can_ask:
        return False
    folders = [file.parent, home]
    if has_main(ls.text(str(file)) or ""):
        folders += sorted(p for p in home.iterdir() if p.is_dir() and not p.name.startswith("."))
    near = (p for folder in dict.fromkeys(folders) for p in sorted(folder.iterdir()))
    beside = itertools.islice((p for p in near if p.suffix in SOURCES), _GLANCES)
    texts = ((p, ls.text(str(p))) for p in (file, *beside))
    return any(text is not None and is_gpu_source(p, text, ls.text) for p, text in texts)


async def choose_build(ls: HipServer, key: Path, uri: str) -> bool:
    """Ask how a source is built, asked before or not; whether it can be profiled now."""
    folder = home_of(key, ls.folders()) or key.parent
    build, refused = await _proposed(ls, folder, key, uri)
    if build is None and not any(one.startswith("meson.build") for one in refused):
        return True
    keep_choice(folder, "none")  # of two programs in it, one asks
    if build is not None:
        said = f"{key.name} builds with `{build.build}` and runs `{build.run}`, as {build.origin} says."
    else:
        said = f"{key.name} is built by {refused[0]}, or hipscope.toml has to say how."
    question = lsp.ShowMessageRequestParams(
        type=lsp.MessageType.Info,
        message=f"hipscope: {said}",
        actions=[lsp.MessageActionItem(title=title) for title in CHOICES if build or title != "Use it"],
    )
    choice = CHOICES.get(await ls.answer(question) or "")
    if choice is None:
        return True
    keep_choice(folder, choice)
    file = folder / "hipscope.toml"
    if choice == "alone" or not await write_new(ls, file, build.settings if build else _BY_MESON, _LABEL):
        return True
    ls.store.fail(
        str(key), (), map(str, settings_files(key, ls.folders()))
    )  # a save of them begins the profile
    ls.status("idle", WHEN_SAVED)
    if choice == "edit":
        await show_file(ls, file)
        return False
    return await saved(ls, file, bool)


async def _proposed(
    ls: HipServer, folder: Path, key: Path, uri: str
) -> tuple[ProposedBuild | None, tuple[str, ...]]:
    """The build that the build files give the source first, and why tools refuse them.

    None where there is none, or they cannot be asked.
    """
    ls.status("profiling", "asking the build files")
    request = replace(job_request(ls, "builds", key, uri), target=str(folder), file=str(key))
    try:
        data = await run_worker(request, lambda _message, _share: None)
        said = read_builds(data)
    except (JobFailed, JobStopped, RecordMismatch):
        return None, ()
    found = next((one for one in said.builds[:1] if one.build is not None and one.settings), None)
    return found, said.refused
