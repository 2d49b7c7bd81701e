"""An agent over the wire: what it is told, within which budget, what it may name, and how it stops what it began."""

from __future__ import annotations

import asyncio
import json
import os
import socket
from pathlib import Path

import anyio
import httpx2
import pytest

from hipscope.server.reports.schema.fields import to_json
from tests.server.agents.client import agent, http_agent
from tests.server.command_line import Cli
from tests.server.conftest import FAKE_WORKER, HOT_LINE, PROGRAM
from tests.server.records import attempt, optimization
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
        for piece, found in (("", "not in it"), ("nowhere", "not in it"), ("in", "times")):
            refused = await ask("judge_rewrite", file="broken.hip", new_text="x", replaces=piece)
            assert found in refused["error"]
            assert "copy it from the file" in refused["what_to_do"]
        (project / "latin.hip").write_bytes(b"// \xa9 in Latin-1\n" + PROGRAM.encode())
        asked = await ask("judge_rewrite", file="latin.hip", new_text="/*fast*/", replaces="in Latin-1")
        assert "of another version" in asked["error"]  # it got to the worker, and this one does not judge
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


async def test_over_http_only_the_token_opens_and_the_log_of_attempts_is_told(
    cli: Cli, project: Path
) -> None:
    token = "of-this-test-alone-0123456789"
    state = {"XDG_STATE_HOME": str(cli.folder / "state")}
    found = optimization(attempts=(attempt(title="pad the tile", reason="no gain", speedup=1.001),))
    cli.write(json.dumps(to_json(found)), "tried.json")
    assert cli("history", "--project", str(project), "--add", "tried.json", **state).code == 0
    async with http_agent(cli, project, token, FAKE_WORKER) as (ask, address):
        profile = await ask("profile", path="transpose.hip")
        assert profile["times_are"] == "modelled"
        (row,) = (await ask("attempts", path="transpose.hip", kernel="transpose"))["attempts"]
        assert (row["title"], row["outcome"], row["speedup"]) == ("pad the tile", "not_faster", 1.001)
        assert (await ask("attempts", path="."))["attempts"]
        assert "outside" in (await ask("attempts", path="/etc"))["error"]
        for headers in ({}, {"Authorization": "Bearer wrong"}, {"Authorization": f"bearer {token}"}):
            async with httpx2.AsyncClient(headers=headers) as stranger:
                assert (await stranger.post(address, json={})).status_code == 401
        own = {"Authorization": f"Bearer {token}"}
        async with httpx2.AsyncClient(headers={**own, "Host": "evil.example"}) as rebound:
            assert (await rebound.post(address, json={})).status_code in (400, 403, 421)


async def test_a_log_of_a_repository_above_the_roots_is_not_told(cli: Cli, project: Path) -> None:
    (cli.folder / ".git").mkdir()
    async with agent(cli, project, worker=FAKE_WORKER) as ask:
        assert "outside of the roots" in (await ask("attempts", path="transpose.hip"))["error"]


def test_a_short_token_or_a_port_in_use_is_one_line(cli: Cli) -> None:
    short = cli("mcp", "--http", "0", HIPSCOPE_MCP_TOKEN="short")
    assert short.code == 2
    assert "16 characters" in short.line
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert "cannot be used" in cli("mcp", "--http", str(taken.getsockname()[1])).line
