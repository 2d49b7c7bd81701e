"""One line in words, as a request, a command and a code action; pages open rendered in our extension, else as files."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from hipscope.server.render.blocks import to_plain
from hipscope.server.render.formula_pages import rendered_links
from hipscope.server.render.views.explanation import explanation
from hipscope.server.session.known_profiles import Marks
from tests.server.features.commands.test_arguments import other_client
from tests.server.lsp_editor import PROFILE, PROGRAM, Editor, as_dict, end_session, until

WITH_ISA = PROGRAM + "// isa\n"
EXPLAIN, PAGE = "hipscope.server.explain", "hipscope.server.page"


async def explained(client: Editor, **asked: Any) -> Any:
    answer = client.protocol.send_request_async("hipscope/explain", {"uri": client.uri, **asked})  # type: ignore[no-untyped-call]
    return as_dict(await answer)


async def test_a_line_is_explained_by_cause_consequence_and_remedy(client: Editor) -> None:
    client.open(WITH_ISA)
    await client.run(PROFILE)
    found = await explained(client, position={"line": 3, "character": 0})
    assert (found["title"], found["line"]) == ("Line 4 of transpose", 3)
    said = found["plain"]
    cause = said.index("This line takes 60 % of the time of transpose")
    waits = said.index("Most of it falls on ds_read_b32 v1")
    producer = said.index("It waits for the result of ds_read_b32 v0 in line 3")
    consequence = said.index("at stake")
    assert cause < waits < producer < consequence
    assert "[`bankConflict`]" in found["markdown"] or "[bankConflict](" in found["markdown"]


def test_the_remedy_comes_after_what_it_would_bring(marks: Marks) -> None:
    finding = replace(
        marks.report.findings[0], remedy=("pad the rows by one element",), estimated_speedup=2.5
    )
    kernel = marks.report.kernels[0]
    said = to_plain(explanation(marks.report, kernel, kernel.lines[-1], [finding], [], None))
    gain, remedy = said.index("about 2.5x as fast"), said.index("What helps: pad the rows by one element.")
    assert said.index("This line takes") < gain < remedy


async def test_without_a_position_the_hottest_line_is_explained(client: Editor) -> None:
    client.open(PROGRAM)
    await client.run(PROFILE)
    assert (await explained(client))["line"] == 3


async def test_a_line_that_takes_no_time_says_so(client: Editor) -> None:
    client.open(PROGRAM)
    with pytest.raises(JsonRpcException, match="profile it first"):
        await explained(client)
    await client.run(PROFILE)
    with pytest.raises(JsonRpcException, match="line 7 takes no time"):
        await explained(client, position={"line": 6, "character": 0})


async def test_the_action_on_the_line_opens_the_page_rendered(client: Editor) -> None:
    client.open(PROGRAM)
    await client.run(PROFILE)
    place = lsp.Range(lsp.Position(3, 0), lsp.Position(3, 0))
    asked = lsp.CodeActionParams(client.document, place, lsp.CodeActionContext(diagnostics=[]))
    actions = await client.text_document_code_action_async(asked)
    (action,) = [a for a in actions or () if isinstance(a, lsp.CodeAction) and a.title == "Explain line 4"]
    assert action.command is not None
    assert action.command.arguments is not None
    arguments: Any = as_dict(action.command.arguments[0])
    await client.run(action.command.command, position=arguments["position"])
    (page,) = await until(lambda: [p for m, p in client.custom if m == "hipscope/page"])
    assert page["title"] == "Line 4 of transpose"
    assert "](command:hipscope.openPage?" in page["markdown"]


async def test_another_client_gets_the_page_as_a_file(tmp_path: Path) -> None:
    client = await other_client(tmp_path, apply="directly")
    client.open(PROGRAM)
    await client.run(PROFILE)
    await client.run(EXPLAIN, position={"line": 3, "character": 0})
    (shown,) = await until(lambda: client.shown_documents)
    text = Path(shown.uri.removeprefix("file://")).read_text()
    assert "This line takes 60 %" in text
    assert "command:" not in text
    await end_session(client)


async def test_a_page_of_the_documentation_opens_by_its_name(client: Editor) -> None:
    client.open(PROGRAM)
    answer = await client.run(PAGE, name="formulas/bankConflict.md")
    (page,) = await until(lambda: [p for m, p in client.custom if m == "hipscope/page"])
    assert page["uri"] == answer["uri"]
    assert Path(page["uri"].removeprefix("file://")).is_file()
    for name in ("../README.md", "nothing.md", "/etc/passwd", None):
        with pytest.raises(JsonRpcException, match="name"):
            await client.run(PAGE, name=name)


def test_only_links_to_pages_become_the_command() -> None:
    text = "[a](file:///docs/a.md#part) and [b](https://example.org/b.md), `[c](x)`"
    said = rendered_links(text)
    assert said.startswith("[a](command:hipscope.openPage?%5B%22file%3A///docs/a.md%23part%22%5D)")
    assert "(https://example.org/b.md), `[c](x)`" in said
