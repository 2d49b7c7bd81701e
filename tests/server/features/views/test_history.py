"""Three versions in a repository: the lens says what changed since which commit, a slower kernel is marked."""

import asyncio
import subprocess
import time
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from hipscope.server.history.baseline import baseline, keep_profile
from hipscope.server.reports.report_reader import read_report
from tests.server.lsp_editor import PROFILE, Editor, as_dict, until

COMPARE = "hipscope.server.compare"


def version(lines: int) -> str:
    """A kernel that takes as much time as it has lines with a cost, and as much again."""
    costs = "".join("  p[n] = p[0];  // cost 0.2 lds\n" for _ in range(lines))
    return f"__global__ void copy(float* p, int n) {{\n{costs}}}\nint main() {{ copy<<<1, 64>>>(nullptr, 0); }}\n"


def git(folder: Path, *words: str) -> str:
    given = ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words]
    return subprocess.run(given, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()


async def profiled(client: Editor, text: str) -> None:
    """The text is saved, and its profile is there with what it is held against."""
    client.change(text)
    client.path.write_text(text)
    assert (await client.run(PROFILE))["status"] == "done"


def commit(client: Editor) -> str:
    git(client.path.parent, "add", "-A")
    git(client.path.parent, "commit", "-qm", "a version")
    return git(client.path.parent, "rev-parse", "--short=7", "HEAD")


async def lens(client: Editor) -> str:
    found = await client.text_document_code_lens_async(lsp.CodeLensParams(client.document))
    return found[0].command.title if found and found[0].command else ""


async def lens_with(client: Editor, words: str) -> str:
    return str(await eventually(lambda: lens(client), lambda title: words in title))


async def asked(client: Editor, method: str, **params: Any) -> Any:
    answer = client.protocol.send_request_async(method, {"uri": client.uri, **params})  # type: ignore[no-untyped-call]
    return as_dict(await answer)


async def rows(client: Editor, count: int) -> Any:
    async def found() -> Any:
        return (await asked(client, "hipscope/history"))["profiles"]

    return await eventually(found, lambda profiles: len(profiles) >= count)


async def eventually(ask: Callable[[], Awaitable[Any]], wanted: Callable[[Any], bool]) -> Any:
    """The first answer that is as wanted: git and the database take their time."""
    deadline = time.monotonic() + 20.0
    while not wanted(answer := await ask()):
        assert time.monotonic() < deadline, answer
        await asyncio.sleep(0.02)
    return answer


async def test_three_versions_a_checkout_and_a_comparison(client: Editor) -> None:
    git(client.path.parent, "init", "-q")
    client.open(version(3))
    first = commit(client)
    await profiled(client, version(3))
    await rows(client, 1)
    await profiled(client, version(1))  # half of the time, not committed
    assert f"24.7 us · -50 % since {first}" in await lens_with(client, "since")
    await rows(client, 2)
    final = version(1) + "// final\n"
    client.path.write_text(final)
    second = commit(client)
    await profiled(client, final)
    assert f"-50 % since {first}" in await lens_with(client, "since")
    await rows(client, 3)
    await profiled(client, version(2))
    assert f"+50 % since {second}" in await lens_with(client, "since")
    mark = await until(lambda: client.marks.get("slower"))
    assert mark.severity == lsp.DiagnosticSeverity.Information
    assert "copy is " in mark.message
    assert "slower than at " in mark.message
    client.change(version(3))  # as undo does: what was known of it comes back, held against the commit, too
    assert "49.4 us" in await lens_with(client, f"+100 % since {second}")
    found = await rows(client, 4)
    assert {one["commit"][:7] for one in found} == {first, second}
    a, b = found[-1]["id"], found[-2]["id"]
    compared = await asked(client, "hipscope/compare", a=a, b=b)
    assert [(k["name"], round(k["change"], 2)) for k in compared["kernels"]] == [("copy", -0.5)]
    await client.run(COMPARE, a=a, b=b)
    (page,) = await until(lambda: [p for m, p in client.custom if m == "hipscope/page"])
    assert "| copy | 49.4 us | 24.7 us | -50 % |" in page["markdown"]


async def test_a_profile_is_of_the_commit_that_it_was_made_at(client: Editor) -> None:
    """A commit right behind it was that of its row; and a text that is not saved is of no commit."""
    git(client.path.parent, "init", "-q")
    client.open(version(3))
    first = commit(client)
    await profiled(client, version(3))
    client.path.write_text(version(1))
    commit(client)
    (row,) = await rows(client, 1)
    assert (row["commit"][:7], row["dirty"]) == (first, False)
    client.change(version(2))
    assert (await client.run(PROFILE))["status"] == "done"
    assert [row["dirty"] for row in await rows(client, 2)] == [True, False]


async def test_an_unknown_profile_is_refused_and_a_folder_without_profiles_has_none(client: Editor) -> None:
    client.open(version(1))
    assert (await asked(client, "hipscope/history"))["profiles"] == []
    with pytest.raises(JsonRpcException, match="no id of a profile"):
        await asked(client, "hipscope/compare", a="x", b="y")


def test_a_commit_that_was_profiled_before_is_held_against_what_came_before_it(
    report_data: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a checkout of the first one, the faster second one made a diagnostic of it."""
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    (tmp_path / "p").mkdir()
    report = read_report(report_data)
    for n, commit in enumerate(("first", "second", "second", "third")):
        other = replace(report, inputs=replace(report.inputs, arguments=(str(n),)))
        keep_profile(tmp_path / "p", other, (commit, False))

    def held(commit: str, *, dirty: bool = False) -> str | None:
        found = baseline(tmp_path / "p", report, (commit, dirty))
        return found.commit if found is not None else None

    assert [held(one) for one in ("first", "second", "third", "fourth")] == [None, "first", "second", "third"]
    assert [held(one, dirty=True) for one in ("first", "second")] == ["first", "second"]
    assert held("fourth", dirty=True) == "third"
