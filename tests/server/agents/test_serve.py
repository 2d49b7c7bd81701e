"""An agent over the wire: what it is told, within which budget, what it may name, and how it stops what it began."""

from __future__ import annotations

import asyncio
import json
import os
from pathlib import Path

import anyio
import pytest

from tests.server.agents.client import agent
from tests.server.command_line import Cli
from tests.server.conftest import FAKE_WORKER, HOT_LINE, PROGRAM
from tests.server.schemas import problems


@pytest.fixture
def project(cli: Cli) -> Path:
    folder = cli.folder / "project"
    folder.mkdir()
    (folder / "transpose.hip").write_text(PROGRAM)
    return folder


async def test_an_agent_profiles_and_asks_for_the_line_the_roofline_and_the_whole_report(
    cli: Cli, project: Path
) -> None:
    async with agent(cli, project, worker=FAKE_WORKER) as ask:
        profile = await ask("profile", path="transpose.hip")
        assert profile["times_are"] == "modelled"
        assert [f["formula"] for f in profile["findings"]] == ["bankConflict"]
        assert "building (25%)" in ask.heard
        report = profile["report"]

        lines = (await ask("hotspots", report=report, kernel="transpose"))["lines"]
        assert [(row["line"], row["waits_for"]) for row in lines] == [
            (HOT_LINE, "lds"),
            (HOT_LINE - 1, "global_memory"),
            (HOT_LINE - 2, "scalar_memory"),
        ]
        assert lines[0]["source"].startswith("p[x] = tile[x][n]")

        line = await ask("explain_line", report=report, file="transpose.hip", line=HOT_LINE)
        assert line["kernels"][0]["waits_for"][0]["meaning"] == "waits for local data share"
        assert line["findings"][0]["message"]

        roof = await ask("roofline", report=report, kernel="copy")
        assert [k["kernel"] for k in roof["kernels"]] == [profile["kernels"][1]["kernel"]]

        same = await ask("compare", base=report, head=(await ask("profile", path="transpose.hip"))["report"])
        assert {k["change"] for k in same["kernels"]} == {0.0}

        whole = await ask.client.read_resource(f"hipscope://report/{report}")
        assert problems(json.loads(whole.contents[0].text)) == []  # type: ignore[union-attr]
        page = await ask.client.read_resource("hipscope://formula/bankConflict")
        assert "LDS bank conflicts" in page.contents[0].text  # type: ignore[union-attr]


async def test_an_answer_keeps_its_budget_and_the_rest_is_told_by_its_handle(cli: Cli, project: Path) -> None:
    async with agent(cli, project, worker=FAKE_WORKER) as ask:
        report = (await ask("profile", path="transpose.hip"))["report"]
        whole = (await ask("hotspots", report=report))["lines"]
        part = await ask("hotspots", report=report, max_tokens=400)
        assert len(json.dumps(part)) < 400 * 4
        rows, left = part["lines"], part.get("left_out", {}).get("lines")
        while left is not None:
            more = await ask("more", handle=left["handle"], max_tokens=400)
            rows += more["part"]
            left = more.get("left_out")
        assert rows == whole


async def test_a_folder_that_nobody_allowed_is_not_built(cli: Cli, project: Path) -> None:
    async with agent(cli, project, allowed=False, worker=FAKE_WORKER) as ask:
        for tool, arguments in (
            ("profile", {"path": "transpose.hip"}),
            ("judge_rewrite", {"file": "transpose.hip", "new_text": "x"}),
            ("check", {"path": "transpose.hip"}),
            ("resources", {"path": "."}),
            ("isa", {"path": "transpose.hip"}),
        ):
            assert "is not allowed" in (await ask(tool, **arguments))["error"]
        assert f"hipscope allow {project}" in (await ask("profile", path="transpose.hip"))["what_to_do"]


async def test_a_call_that_is_cancelled_stops_its_worker(cli: Cli, project: Path) -> None:
    (project / "transpose.hip").write_text(PROGRAM + "// worker: sleep\n")
    async with agent(cli, project, worker=FAKE_WORKER) as ask:
        before = cli.running()
        with anyio.move_on_after(600) as waiting:

            async def stop() -> None:
                while "building (25%)" not in ask.heard:
                    await asyncio.sleep(0.02)
                assert len(cli.running()) > len(before)
                waiting.cancel()

            stopper = asyncio.ensure_future(stop())
            await ask("profile", path="transpose.hip")
        await stopper
        async with asyncio.timeout(20):
            while cli.running() != before:
                await asyncio.sleep(0.02)
        (project / "transpose.hip").write_text(PROGRAM)
        assert (await ask("profile", path="transpose.hip"))["report"] == "report-1"


async def test_a_report_that_somebody_wrote_tells_nothing_of_files_outside_of_the_roots(
    cli: Cli, project: Path
) -> None:
    secret = cli.folder / "secret.txt"
    secret.write_text("the key\n" * 20)
    async with agent(cli, project, worker=FAKE_WORKER) as ask:
        report = (await ask("profile", path="transpose.hip"))["report"]
        text = (await ask.client.read_resource(f"hipscope://report/{report}")).contents[0].text  # type: ignore[union-attr]
        forged = text.replace(str(project / "transpose.hip"), str(secret))
        data = json.loads(forged)
        data["sources"] = {}
        (project / "forged.json").write_text(json.dumps(data))
        told = await ask("hotspots", report=(await ask("profile", path="forged.json"))["report"])
        assert told["lines"]
        assert "the key" not in json.dumps(told)


async def test_failures_are_answers_with_what_to_do(cli: Cli, project: Path) -> None:
    (project / "broken.hip").write_text(PROGRAM + "// worker: usage\n")
    async with agent(cli, project, worker=FAKE_WORKER) as ask:
        failed = await ask("profile", path="broken.hip")
        assert failed["error"] == "the program left with exit code 2"
        assert "usage: transpose" in failed["printed"]
        assert "known: none yet" in (await ask("hotspots", report="report-7"))["what_to_do"]
        assert "no id of a verified edit" in (await ask("apply_verified", id="verified-0"))["error"]
        assert "nothing is kept" in (await ask("more", handle="rest-9"))["error"]


def test_without_the_extra_one_line_says_what_to_install(cli: Cli) -> None:
    blocked = cli.folder / "blocked" / "mcp"
    blocked.mkdir(parents=True)
    (blocked / "__init__.py").write_text("raise ModuleNotFoundError(\"No module named 'mcp'\", name='mcp')\n")
    paths = os.pathsep.join([str(blocked.parent), *filter(None, [os.environ.get("PYTHONPATH")])])
    outcome = cli("mcp", PYTHONPATH=paths)
    assert outcome.code == 3
    assert "the extra `agent`" in outcome.line
    assert "pip install" in outcome.stderr


def test_a_root_that_is_no_folder_is_refused(cli: Cli) -> None:
    outcome = cli("mcp", "--root", "nowhere")
    assert outcome.code == 2
    assert "nowhere" in outcome.line
