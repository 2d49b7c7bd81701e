"""A rewrite is read before it is taken: the user decides, in each client's way, and nothing verified is lost."""

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp

from hipscope.server.session import proposals
from tests.server.lsp_editor import (
    APPLY,
    COMMAND,
    DISCARD,
    ENVIRONMENT,
    NEXT,
    OPTIMIZE,
    PROGRAM,
    Editor,
    as_dict,
    end_session,
    make_client,
    new_session,
    start,
    until,
)


async def other_session(folder: Path, name: str = "vscode_1.139", **options: Any) -> Editor:
    """A client without our extension."""
    client = make_client()
    await client.start_io(*COMMAND, env=ENVIRONMENT)
    await start(client, name, folder, **options)
    return client


def proposed(client: Editor) -> dict[str, Any]:
    return next((p for method, p in client.custom if method == "hipscope/proposal"), {})


async def request(client: Editor, method: str, **params: Any) -> Any:
    return as_dict(await client.protocol.send_request_async(method, params))  # type: ignore[no-untyped-call]


async def test_the_extension_gets_the_proposal_with_text_and_evidence_and_nothing_is_edited(
    tmp_path: Path,
) -> None:
    client = await new_session(tmp_path)
    client.open()
    answer = await client.run(OPTIMIZE)
    assert (answer["status"], answer["applied"]) == ("verified", False)
    found = await until(lambda: proposed(client))
    assert found["id"] == answer["proposal"]
    assert found["files"] == [{"uri": client.uri, "text": PROGRAM.replace("/*slow*/", "/*fast*/")}]
    assert "3.50x as fast (modelled): transpose" in found["evidence"]
    assert "```diff\n-slow\n+fast\n```" in found["evidence"]
    assert client.edits == []
    assert client.path.read_text() == PROGRAM
    await end_session(client)


async def test_a_proposal_is_applied_by_its_id_and_then_is_none_any_more(tmp_path: Path) -> None:
    client = await new_session(tmp_path)
    client.open()
    made = (await client.run(OPTIMIZE))["proposal"]
    assert [p["id"] for p in await request(client, "hipscope/proposals", uri=client.uri)] == [made]
    answer = await client.run(APPLY, id=made)
    assert answer["applied"] is True
    assert len(client.edits) == 1
    assert await request(client, "hipscope/proposals") == []
    with pytest.raises(Exception, match="no proposal"):
        await client.run(APPLY, id=made)
    await end_session(client)


async def test_an_edit_that_the_editor_refused_is_applied_later_without_a_second_run(tmp_path: Path) -> None:
    client = await new_session(tmp_path)
    client.set_configuration({"apply": "directly"}, section="hipscope")
    client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams(settings=None))
    client.open(PROGRAM)
    client.refuses = "the file is read only"
    refused = await client.run(OPTIMIZE)
    assert (refused["applied"], "read only" in refused["message"]) == (False, True)
    client.refuses = ""
    # The worker would refuse now: the proposal that was kept is what is applied.
    statuses = len([p for m, p in client.custom if m == "hipscope/status" and p["state"] == "optimizing"])
    answer = await client.run(OPTIMIZE)
    assert answer["applied"] is True
    again = len([p for m, p in client.custom if m == "hipscope/status" and p["state"] == "optimizing"])
    assert again == statuses
    await end_session(client)


async def test_a_proposal_of_another_text_is_made_anew_and_cannot_be_applied(tmp_path: Path) -> None:
    client = await new_session(tmp_path)
    client.open()
    old = (await client.run(OPTIMIZE))["proposal"]
    client.change("// typed\n" + PROGRAM)
    whole = await request(client, "hipscope/proposal", id=old)
    assert (whole["fits"], whole["files"]) == (False, [])
    new = (await client.run(OPTIMIZE))["proposal"]
    assert new != old
    await end_session(client)


@pytest.mark.parametrize(("said", "edits"), [(["Apply"], 1), (["Show", "Apply"], 1), (["Discard"], 0)])
async def test_another_client_is_asked_and_answered_at_once(
    tmp_path: Path, said: list[str], edits: int
) -> None:
    client = await other_session(tmp_path)
    client.answers = list(said)
    client.open()
    assert await client.run(OPTIMIZE) == {"status": "started"}
    await until(lambda: not client.answers and len(client.edits) == edits)
    assert "transpose is 3.50x as fast (modelled)" in client.questions[0]
    assert len(client.questions) == len(said)
    if "Show" in said:
        (page,) = await until(lambda: client.shown_documents)
        assert "3.50x as fast (modelled): transpose" in Path(page.uri.removeprefix("file://")).read_text()
    await end_session(client)


async def test_the_next_candidate_is_another_rewrite_and_all_are_kept_in_order(tmp_path: Path) -> None:
    client = await new_session(tmp_path)
    client.open()
    first = (await client.run(OPTIMIZE))["proposal"]
    second = (await client.run(NEXT, id=first))["proposal"]
    shown = [p for method, p in client.custom if method == "hipscope/proposal"]
    assert [p["id"] for p in shown] == [first, second]
    assert [p["title"].partition(" (")[0] for p in shown] == ["Make it fast", "Make it faster"]
    assert shown[1]["files"][0]["text"] == PROGRAM.replace("/*slow*/", "/*faster*/")
    # No third one: it is said, and the one that was passed over is shown again.
    last = await client.run(NEXT, id=second)
    assert last["message"] == "no other rewrite was verified: all was tried"
    shown = [p for method, p in client.custom if method == "hipscope/proposal"]
    assert [p["id"] for p in shown] == [first, second, second]
    # What was found before is not looked for again.
    assert (await client.run(NEXT, id=first))["proposal"] == second
    assert [p["id"] for p in await request(client, "hipscope/proposals")] == [second, first]
    assert (await client.run(APPLY, id=second))["applied"] is True
    assert len(client.edits) == 1
    await end_session(client)


async def test_another_client_asks_for_the_next_candidate_in_the_question(tmp_path: Path) -> None:
    client = await other_session(tmp_path)
    client.answers = ["Next Candidate", "Apply"]
    client.open()
    await client.run(OPTIMIZE)
    await until(lambda: client.edits)
    assert ["Make it fast (" in q or "Make it faster (" in q for q in client.questions] == [True, True]
    assert client.offered[0][1] == ["Apply", "Show", "Next Candidate", "Discard"]
    (change,) = client.edits[0].edit.document_changes or ()
    assert isinstance(change, lsp.TextDocumentEdit)
    assert [getattr(e, "new_text", "") for e in change.edits] == ["/*faster*/"]
    await end_session(client)


async def test_a_proposal_that_nobody_answers_is_kept(tmp_path: Path) -> None:
    client = await other_session(tmp_path)
    client.open()
    await client.run(OPTIMIZE)
    await until(lambda: client.questions)
    (kept,) = await request(client, "hipscope/proposals")
    assert kept["fits"] is True
    assert await client.run(DISCARD, id=kept["id"]) == {"discarded": True}
    assert client.edits == []
    await end_session(client)


async def test_only_so_many_proposals_are_kept(tmp_path: Path) -> None:
    kept = proposals.Proposals()
    found: Any = None
    asked = [proposals.Asked(tmp_path, f"k{n}", "auto") for n in range(proposals.KEPT + 2)]
    made = [kept.add("file:///a.hip", one, found) for one in asked]
    assert kept.get(made[0].id) is None
    assert [p.id for p in kept.all()] == [p.id for p in reversed(made[2:])]
