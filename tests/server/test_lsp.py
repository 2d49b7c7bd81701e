"""The language server over the wire: what an editor sees of profiles, rewrites and settings."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from pathlib import Path

import pytest
import pytest_lsp
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from tests.server.lsp_editor import (
    CHECK,
    OPTIMIZE,
    PROFILE,
    PROGRAM,
    RESTORE,
    Editor,
    as_dict,
    child_of_worker,
    config,
    end_session,
    gone,
    line,
    new_session,
    position,
    start,
    until,
)

pytestmark = pytest.mark.filterwarnings("error::pytest_lsp.LspSpecificationWarning")


async def test_every_editor_sees_profiles_and_applies_a_verified_edit(any_client: Editor) -> None:
    client = any_client
    client.open()
    answer = await client.run(PROFILE)
    assert answer == {"status": "done", "failure": None, "kernels": 1, "findings": 1, "partial": None}

    mark = (await until(lambda: client.marks))["bankConflict"]
    assert mark.range.start.line == 3
    assert "modelled" in mark.message

    at = lsp.HoverParams(text_document=client.document, position=position(3, 6))
    hover = await client.text_document_hover_async(at)
    assert hover is not None
    assert isinstance(hover.contents, lsp.MarkupContent)
    assert "bank conflicts take 97 %" in hover.contents.value
    assert client.capabilities is not None
    assert client.capabilities.text_document is not None
    assert client.capabilities.text_document.hover is not None
    assert hover.contents.kind in (client.capabilities.text_document.hover.content_format or [])

    lenses = await client.text_document_code_lens_async(lsp.CodeLensParams(text_document=client.document))
    assert lenses is not None
    titles = [lens.command.title for lens in lenses if lens.command]
    assert titles == ["modelled 37.0 us · 100 % of GPU time · LDS bound", "Optimize"]

    whole = lsp.Range(position(0, 0), position(9, 0))
    hints = await client.text_document_inlay_hint_async(
        lsp.InlayHintParams(text_document=client.document, range=whole)
    )
    assert hints is not None
    assert [h.label for h in hints] == ["20 % · global memory", "60 % · LDS"]

    context = lsp.CodeActionContext(diagnostics=[mark])
    actions = await client.text_document_code_action_async(
        lsp.CodeActionParams(text_document=client.document, range=line(3), context=context)
    )
    fix = next(a for a in actions or [] if isinstance(a, lsp.CodeAction) and a.kind == "quickfix")
    assert fix.edit is None
    assert fix.command is not None
    answer = await client.workspace_execute_command_async(
        lsp.ExecuteCommandParams(command=fix.command.command, arguments=fix.command.arguments)
    )
    assert as_dict(answer)["applied"] is True
    assert as_dict(answer)["speedup"] == 3.5

    edit = client.edits[0].edit
    assert client.capabilities.workspace is not None
    assert client.capabilities.workspace.workspace_edit is not None
    if client.capabilities.workspace.workspace_edit.document_changes:
        assert edit.changes is None
        assert edit.document_changes is not None
        change = edit.document_changes[0]
        assert isinstance(change, lsp.TextDocumentEdit)
        assert change.text_document.version == 1
        text_edit = change.edits[0]
    else:
        assert edit.document_changes is None
        assert edit.changes is not None
        text_edit = edit.changes[client.uri][0]
    assert isinstance(text_edit, lsp.TextEdit | lsp.AnnotatedTextEdit)
    assert text_edit.new_text == "/*fast*/"
    assert text_edit.range.start == position(3, PROGRAM.splitlines()[3].index("/*slow*/"))


async def test_no_editor_gets_notifications_that_only_our_extension_knows(any_client: Editor) -> None:
    any_client.open()
    await any_client.run(PROFILE)
    assert any_client.custom == []


async def test_our_extension_gets_heat_and_status(client: Editor) -> None:
    client.open()
    await client.run(PROFILE)
    heat = (await until(lambda: [p for m, p in client.custom if m == "hipscope/heat" and p["lines"]]))[-1]
    assert heat["uri"] == client.uri
    assert [(row["line"], row["share"], row["reason"]) for row in heat["lines"]] == [
        (2, 0.2, "global memory"),
        (3, 0.6, "LDS"),
    ]
    states = [p["state"] for m, p in client.custom if m == "hipscope/status"]
    assert "profiling" in states
    assert (await until(lambda: [p["state"] for m, p in client.custom if m == "hipscope/status"]))[
        -1
    ] == "idle"
    assert lsp.WORKSPACE_INLAY_HINT_REFRESH in client.refreshed


async def test_a_save_profiles_and_a_save_without_a_change_does_not(client: Editor) -> None:
    client.open()
    client.save()

    def statuses() -> list[str]:
        return [p["state"] for m, p in client.custom if m == "hipscope/status"]

    await until(lambda: client.marks and statuses()[-1] == "idle")
    client.custom.clear()
    client.save()
    assert await client.stop_jobs(client.uri) == 0
    assert statuses() == []
    client.change(PROGRAM.replace("0.6 lds", "0.5 lds"))
    client.save()
    await until(lambda: "profiling" in [p.get("state") for _, p in client.custom])


@pytest.mark.parametrize("name", ["main.cpp", "sizes.h", "hipscope.toml", "Makefile", "input.csv"])
async def test_a_save_of_any_input_profiles_again_and_until_then_all_is_stale(
    client: Editor, name: str
) -> None:
    other = client.path.with_name(name)
    other.write_text("width = 1530\n")
    client.open(f"{PROGRAM}// reads {name}\n")
    await client.run(PROFILE)
    await until(lambda: client.marks)
    saved = lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(other.as_uri()))
    client.custom.clear()
    client.text_document_did_save(saved)
    assert await client.stop_jobs(client.uri) == 0
    assert [p for m, p in client.custom if m == "hipscope/status"] == []
    other.write_text("width = 3000\n")
    client.text_document_did_save(saved)
    await until(lambda: "stale" in client.marks["bankConflict"].message)
    await until(lambda: "profiling" in [p.get("state") for _, p in client.custom])
    await until(lambda: "stale" not in client.marks["bankConflict"].message)


async def test_an_input_that_changes_on_disk_makes_marks_stale_at_once(client: Editor) -> None:
    header = client.path.with_name("sizes.h")
    header.write_text("constexpr int kTile = 32;\n")
    client.open(f"{PROGRAM}// reads sizes.h hipscope.toml\n")
    await client.run(PROFILE)
    await until(lambda: client.marks)
    watched = await until(lambda: client.watched)
    assert {header.as_uri(), client.uri, client.path.with_name("hipscope.toml").as_uri()} <= set(watched)
    client.change_on_disk(header, "constexpr int kTile = 64;\n")
    await until(lambda: "stale" in client.marks["bankConflict"].message)
    client.change_on_disk(header, "constexpr int kTile = 32;\n")
    await until(lambda: "stale" not in client.marks["bankConflict"].message)
    client.custom.clear()
    client.change_on_disk(client.path.with_name("hipscope.toml"), "flags = []\n")
    await until(lambda: "profiling" in [p.get("state") for _, p in client.custom])


@pytest_lsp.fixture(config=config, params=["neovim_0.7", "eglot_1.9"])  # type: ignore[untyped-decorator]
async def blind_client(request: pytest.FixtureRequest, lsp_client: Editor) -> AsyncIterator[None]:
    """An editor that cannot watch every file."""
    await start(lsp_client, request.param, request.getfixturevalue("tmp_path"), waitsForCommands=True)
    yield
    await asyncio.wait_for(lsp_client.shutdown_session(), 10)


async def test_the_server_watches_inputs_for_an_editor_that_cannot(blind_client: Editor) -> None:
    client = blind_client
    header, late = client.path.with_name("sizes.h"), client.path.parent / "build" / "data.csv"
    header.write_text("constexpr int kTile = 32;\n")
    client.open(f"{PROGRAM}// reads sizes.h\n// reads build/data.csv\n")
    await client.run(PROFILE)
    await until(lambda: fresh(client))
    header.write_text("constexpr int kTile = 64;\n")
    await until(lambda: not fresh(client))
    header.unlink()
    header.write_text("constexpr int kTile = 32;\n")
    await until(lambda: fresh(client))
    late.parent.mkdir()
    late.write_text("1530\n")
    await until(lambda: not fresh(client))
    client.path.rename(client.path.with_name("moved.hip"))
    client.text_document_did_close(lsp.DidCloseTextDocumentParams(client.document))
    await until(lambda: not client.marks)


async def test_a_removed_workspace_folder_takes_its_jobs_and_marks_along(client: Editor) -> None:
    client.open()
    await client.run(PROFILE)
    await until(lambda: client.marks)
    client.change(PROGRAM + "// worker: sleep\n")
    job = asyncio.create_task(client.run(PROFILE))
    child = await child_of_worker(client)
    removed = lsp.WorkspaceFolder(uri=client.path.parent.as_uri(), name="project")
    event = lsp.WorkspaceFoldersChangeEvent(added=[], removed=[removed])
    client.workspace_did_change_workspace_folders(lsp.DidChangeWorkspaceFoldersParams(event))
    assert (await job)["status"] == "cancelled"
    await until(lambda: gone(child))
    await until(lambda: not client.marks)


@pytest.mark.parametrize("how", ["deleted", "renamed", "folder", "watched"])
async def test_a_file_that_is_gone_has_no_diagnostics(client: Editor, how: str) -> None:
    client.open()
    await client.run(PROFILE)
    await until(lambda: client.marks)
    client.text_document_did_close(lsp.DidCloseTextDocumentParams(client.document))
    moved = client.path.with_name("moved.hip")
    client.path.rename(moved)
    if how == "renamed":
        client.workspace_did_rename_files(lsp.RenameFilesParams([lsp.FileRename(client.uri, moved.as_uri())]))
    elif how == "watched":
        event = lsp.FileEvent(client.uri, lsp.FileChangeType.Deleted)
        client.workspace_did_change_watched_files(lsp.DidChangeWatchedFilesParams([event]))
    else:
        gone = client.path.parent.as_uri() if how == "folder" else client.uri
        client.workspace_did_delete_files(lsp.DeleteFilesParams([lsp.FileDelete(gone)]))
    await until(lambda: not client.marks)


@pytest.mark.parametrize("what", ["file", "folder"])
async def test_a_renamed_program_keeps_its_marks_without_another_profile(client: Editor, what: str) -> None:
    client.open()
    await client.run(PROFILE)
    before = await until(lambda: dict(client.marks))
    old = client.path if what == "file" else client.path.parent
    new = old.with_name("moved.hip" if what == "file" else "moved")
    client.text_document_did_close(lsp.DidCloseTextDocumentParams(client.document))
    old.rename(new)
    client.workspace_did_rename_files(lsp.RenameFilesParams([lsp.FileRename(old.as_uri(), new.as_uri())]))
    await until(lambda: not client.marks)
    there = (new if what == "file" else new / client.path.name).as_uri()
    after = await until(lambda: client.diagnostics.get(there))
    assert {d.code: d.range for d in after} == {code: d.range for code, d in before.items()}
    assert not any("stale" in d.message for d in after)


async def test_other_arguments_of_the_program_make_a_save_profile_again(client: Editor) -> None:
    client.open()
    await client.run(PROFILE)
    client.set_configuration({"programArguments": ["--size", "3000"]}, section="hipscope")
    client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams(settings=None))
    await client.stop_jobs()
    client.custom.clear()
    client.save()
    await until(lambda: "profiling" in [p.get("state") for _, p in client.custom])


async def test_check_shows_a_race_with_its_other_line_and_typing_moves_it(client: Editor) -> None:
    client.open(PROGRAM + "int a;  // with\nint b;  // races\n")
    answer = await client.run(CHECK)
    assert answer["status"] == "done"
    assert answer["reports"] == 1
    race = await until(lambda: client.marks.get("data-race"))
    number = client.text.splitlines().index("int b;  // races")
    assert race.source == "hipscope check"
    assert race.range.start.line == number
    assert race.related_information[0].location.range.start.line == number - 1
    client.change("\n" + client.text)
    await until(lambda: client.marks["data-race"].range.start.line == number + 1)
    client.change(client.text.replace("// races", "// safe"))
    await client.run(CHECK)
    await until(lambda: "data-race" not in client.marks)


async def test_restore_takes_a_rewrite_back_and_refuses_over_later_changes(client: Editor) -> None:
    client.applies = True
    client.open()
    original = client.text
    await client.run(PROFILE)
    answer = await client.run(OPTIMIZE, position={"line": 3, "character": 6})
    assert answer["status"] == "verified"
    rewritten = original.replace("/*slow*/", "/*fast*/")
    assert client.text == rewritten
    assert client.path.read_text() == original
    assert (await client.run(RESTORE))["restored"]
    assert client.text == client.path.read_text() == original
    assert "has its original text" in (await client.run(RESTORE))["message"]
    client.change(rewritten + "// mine\n")
    refused = await client.run(RESTORE)
    assert (refused["restored"], "--force" in refused["message"]) == (False, True), refused
    assert client.text == rewritten + "// mine\n"
    back = await client.run(RESTORE, force=True)
    assert back["restored"], back
    assert client.text == original
    client.text_document_did_close(lsp.DidCloseTextDocumentParams(client.document))
    client.path.write_text(rewritten)
    assert (await client.run(RESTORE))["restored"]
    assert client.path.read_text() == original
    with pytest.raises(JsonRpcException, match="`uri` of a file"):
        await client.workspace_execute_command_async(
            lsp.ExecuteCommandParams(command=RESTORE, arguments=[{}])
        )


async def test_a_save_of_other_code_starts_nothing(client: Editor) -> None:
    client.open("int main() { return 0; }\n")
    client.save()
    client.change("__global__ void k() {}\n")
    client.save()
    assert await client.stop_jobs() == 0
    assert "profiling" not in [p.get("state") for _, p in client.custom]


async def test_profile_on_save_can_be_switched_off_while_running(client: Editor) -> None:
    client.open()
    client.set_configuration({"profileOnSave": False}, section="hipscope")
    client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams(settings=None))
    await until(lambda: client.refreshed)
    client.save()
    assert await client.stop_jobs() == 0
    assert "profiling" not in [p.get("state") for _, p in client.custom]


async def test_a_wrong_setting_is_named_and_does_no_harm(client: Editor) -> None:
    client.set_configuration({"backend": "cray"}, section="hipscope")
    client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams(settings=None))
    await until(lambda: any("hipscope.backend" in m.message for m in client.messages))


async def test_typing_above_a_mark_moves_it_and_typing_in_its_kernel_makes_it_stale(client: Editor) -> None:
    client.open()
    await client.run(PROFILE)
    await until(lambda: client.marks)
    client.change("// one\n// two\n" + PROGRAM)
    await until(lambda: client.marks["bankConflict"].range.start.line == 5)
    assert "stale" not in client.marks["bankConflict"].message
    client.change(PROGRAM.replace("tile[32][32]", "tile[32][33]"))
    await until(lambda: "stale" in client.marks["bankConflict"].message)
    client.change(PROGRAM)
    await until(lambda: "stale" not in client.marks["bankConflict"].message)


async def test_an_undo_to_a_profiled_text_shows_its_profile_again(client: Editor) -> None:
    async def hints() -> list[object]:
        whole = lsp.Range(position(0, 0), position(9, 0))
        asked = lsp.InlayHintParams(text_document=client.document, range=whole)
        return [h.label for h in await client.text_document_inlay_hint_async(asked) or ()]

    client.open()
    await client.run(PROFILE)
    assert await hints() == ["20 % · global memory", "60 % · LDS"]
    client.change(PROGRAM.replace("0.6 lds", "0.5 lds").replace("p[n];", "p[n + 1];"))
    await client.run(PROFILE)
    assert await hints() == ["20 % · global memory", "50 % · LDS"]
    client.change(PROGRAM)
    while await hints() != ["20 % · global memory", "60 % · LDS"]:
        await asyncio.sleep(0.02)
    assert await client.stop_jobs(client.uri) == 0


async def test_marks_after_an_accepted_rewrite_are_its_own_and_after_an_undo_those_before(
    client: Editor,
) -> None:
    client.applies = True
    client.open()
    await client.run(PROFILE)
    await client.run(OPTIMIZE, position={"line": 3, "character": 6})
    assert "/*fast*/" in client.text
    await until(lambda: "/*fast*/" in client.text and fresh(client))
    assert client.path.read_text() == PROGRAM
    client.change(PROGRAM)
    await until(lambda: fresh(client))
    assert await client.stop_jobs(client.uri) == 0


async def test_other_arguments_make_marks_stale_and_the_old_ones_show_them_again(client: Editor) -> None:
    client.open()
    await client.run(PROFILE)
    await until(lambda: client.marks)
    for arguments, stale in ((["--size", "3000"], True), ([], False)):
        client.set_configuration({"programArguments": arguments}, section="hipscope")
        client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams(settings=None))
        await until(lambda: ("stale" in client.marks["bankConflict"].message) == stale)  # noqa: B023


async def test_a_change_in_a_header_makes_the_kernels_that_include_it_stale(client: Editor) -> None:
    header = client.path.with_name("sizes.h")
    header.write_text("constexpr int kTile = 32;\n")
    client.open('#include "sizes.h"\n' + PROGRAM)
    item = lsp.TextDocumentItem(header.as_uri(), language_id="hip", version=1, text=header.read_text())
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(text_document=item))
    await client.run(PROFILE)
    await until(lambda: client.marks)

    def typed(version: int, text: str) -> None:
        document = lsp.VersionedTextDocumentIdentifier(uri=header.as_uri(), version=version)
        change = lsp.TextDocumentContentChangeWholeDocument(text=text)
        client.text_document_did_change(
            lsp.DidChangeTextDocumentParams(text_document=document, content_changes=[change])
        )

    typed(2, "constexpr int kTile = 64;\n")
    await until(lambda: "stale" in client.marks["bankConflict"].message)
    typed(3, "// of LDS\nconstexpr int kTile = 32;\n")
    await until(lambda: "stale" not in client.marks["bankConflict"].message)


async def test_unsaved_text_is_what_gets_profiled(client: Editor) -> None:
    client.open()
    client.change("\n\n" + PROGRAM)
    await client.run(PROFILE)
    found = await until(lambda: client.marks)
    assert found["bankConflict"].range.start.line == 5
    assert client.path.read_text() == PROGRAM


async def test_the_kernel_under_the_cursor_is_the_one_to_optimize(client: Editor) -> None:
    client.open()
    await client.run(PROFILE)
    answer = await client.run(OPTIMIZE, position={"line": 3, "character": 0})
    assert answer["status"] == "verified"


async def test_a_text_that_changed_during_the_proof_is_left_alone(client: Editor, tmp_path: Path) -> None:
    client.open(PROGRAM + f"// worker: until {tmp_path / 'typed'}\n")
    job = asyncio.create_task(client.run(OPTIMIZE))
    # The worker has its request, with the text as it was, when it says what it does.
    await until(lambda: any(p.get("message") == "building" for _, p in client.custom))
    client.change("// typed meanwhile\n" + PROGRAM)
    # What was answered after the change has seen it: a busy machine's server may be behind.
    await client.text_document_code_lens_async(lsp.CodeLensParams(text_document=client.document))
    (tmp_path / "typed").touch()
    answer = await job
    assert answer["applied"] is False
    assert "changed while" in answer["message"]
    assert client.edits == []


@pytest.mark.parametrize("closed", [False, True])
async def test_a_rewrite_of_two_files_is_one_edit_and_restored_as_one(
    client: Editor, tmp_path: Path, *, closed: bool
) -> None:
    other = tmp_path / "launch.h"
    other.write_text("old on disk")
    client.open(PROGRAM + "// also launch.h\n")
    item = lsp.TextDocumentItem(uri=other.as_uri(), language_id="hip", version=4, text="old not saved")
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(text_document=item))
    assert (await client.run(OPTIMIZE))["applied"] is True
    first, second = client.edits[-1].edit.document_changes or ()
    assert isinstance(first, lsp.TextDocumentEdit)
    assert isinstance(second, lsp.TextDocumentEdit)
    assert (first.text_document.uri, second.text_document.uri) == (client.uri, other.as_uri())
    assert (first.text_document.version, second.text_document.version) == (1, 4)
    client.change(client.text.replace("slow", "fast"))
    document = lsp.VersionedTextDocumentIdentifier(uri=other.as_uri(), version=5)
    change = lsp.TextDocumentContentChangeWholeDocument(text="new not saved")
    client.text_document_did_change(lsp.DidChangeTextDocumentParams(document, [change]))
    if closed:
        client.path.write_text(client.text)
        client.text_document_did_close(lsp.DidCloseTextDocumentParams(lsp.TextDocumentIdentifier(client.uri)))
    assert (await client.run(RESTORE))["restored"] is True
    assert other.read_text() == "old on disk"
    back = [c for c in client.edits[-1].edit.document_changes or () if isinstance(c, lsp.TextDocumentEdit)]
    assert [c.text_document.version for c in back] == [None if closed else 2, 5]
    texts = [edit.new_text for c in back for edit in c.edits if not isinstance(edit, lsp.SnippetTextEdit)]
    assert texts == [PROGRAM.splitlines(keepends=True)[3], "old not saved"]


async def test_no_verified_improvement_says_why_and_changes_nothing(client: Editor) -> None:
    client.open(PROGRAM + "// worker: refuse\n")
    answer = await client.run(OPTIMIZE)
    assert (answer["status"], answer["applied"]) == ("no_improvement", False)
    assert "only 1 % faster" in answer["message"]
    assert client.edits == []


@pytest.mark.parametrize(
    ("said", "status"), [("Send", "verified"), ("Do not send", "failed"), (None, "failed")]
)
async def test_a_model_is_sent_something_only_if_the_user_says_so(
    client: Editor, said: str | None, status: str
) -> None:
    client.answer = said
    client.open(PROGRAM + "// worker: ask\n")
    answer = await client.run(OPTIMIZE)
    assert answer["status"] == status
    assert len(client.questions) == 1
    assert "would be sent to a model" in client.questions[0]
    assert bool(client.edits) == (status == "verified")


async def test_keys_of_the_editor_reach_the_worker_on_its_input_and_no_environment(tmp_path: Path) -> None:
    keys = '{"https://api.openai.com/v1": "sk-stored"}'
    editor = await new_session(tmp_path, HIPSCOPE_MODEL_KEYS=keys)
    editor.open(PROGRAM + "// worker: keys\n")
    answer = await editor.run(OPTIMIZE)
    assert answer["message"] == f"stored {keys}, inherited False"
    await end_session(editor)


async def test_a_compiler_error_is_a_diagnostic_on_its_line_and_goes_when_fixed(client: Editor) -> None:
    client.open(PROGRAM + "int x  // worker: fail\n")
    answer = await client.run(PROFILE)
    assert answer["status"] == "failed"
    mark = (await until(lambda: client.marks))["compile"]
    assert (mark.range.start.line, mark.severity) == (6, lsp.DiagnosticSeverity.Error)
    client.change(PROGRAM)
    client.save()
    await until(lambda: "bankConflict" in client.marks)
    assert "compile" not in client.marks


async def test_a_second_editor_waits_its_turn_and_says_so(client: Editor, tmp_path: Path) -> None:
    client.open(PROGRAM + f"// worker: until {tmp_path / 'end'}\n")
    first = asyncio.create_task(client.run(OPTIMIZE))
    await until(lambda: any(p.get("state") == "optimizing" for _, p in client.custom))
    await until(lambda: any(p.get("message") == "building" for _, p in client.custom))
    (tmp_path / "other").mkdir()
    other = await new_session(tmp_path / "other")
    other.open()
    second = asyncio.create_task(other.run(PROFILE))
    await until(lambda: any("waiting for 1 other job" in p.get("message", "") for _, p in other.custom))
    assert not second.done()
    (tmp_path / "end").touch()
    assert (await second)["status"] == "done"
    assert (await first)["status"] == "verified"
    await end_session(other)


async def test_a_program_that_wants_arguments_says_so_itself_and_they_can_be_set(client: Editor) -> None:
    client.answer = "Set arguments..."
    client.open(PROGRAM + "// worker: usage\n")
    await client.run(PROFILE)
    (question,) = await until(lambda: client.questions)
    assert "exit code 2" in question
    assert "usage: transpose <width> <height>" in question
    await until(lambda: [p for m, p in client.custom if m == "hipscope/setArguments"])


async def test_a_failure_on_save_is_told_once_and_not_on_every_save(client: Editor) -> None:
    client.open(PROGRAM + "// worker: crash\n")
    for version in range(3):
        client.change(PROGRAM + f"// {version}\n// worker: crash\n")
        client.custom.clear()
        client.save()
        await until(lambda: "error" in [p.get("state") for _, p in client.custom])
    await until(lambda: any("ended early" in m for m in client.told))
    assert len([m for m in client.told if "ended early" in m]) == 1


async def test_an_unknown_command_and_bad_arguments_are_answered_with_errors(client: Editor) -> None:
    with pytest.raises(JsonRpcException, match="no-such"):
        await client.workspace_execute_command_async(lsp.ExecuteCommandParams(command="no-such"))
    with pytest.raises(JsonRpcException, match="uri"):
        await client.workspace_execute_command_async(lsp.ExecuteCommandParams(command=PROFILE, arguments=[3]))


async def test_initialize_is_answered_within_two_seconds(client: Editor) -> None:
    assert client.initialized_in < 2.0 * slowness()


async def test_the_last_profile_is_shown_again_in_the_next_session_for_the_same_text(tmp_path: Path) -> None:
    first = await new_session(tmp_path)
    first.open()
    await first.run(PROFILE)
    await end_session(first)
    second = await new_session(tmp_path)
    second.open()
    assert "bankConflict" in await until(lambda: second.marks)
    await end_session(second)
    third = await new_session(tmp_path)
    third.open(PROGRAM.replace("int main", "int  other();\nint main"))
    await until(lambda: ("hipscope/status", {"state": "idle", "message": ""}) in third.custom)
    assert await third.stop_jobs() == 0
    assert third.marks == {}
    await end_session(third)


@pytest.mark.parametrize("name", ["main.cpp", "hipscope.toml"])
async def test_a_profile_of_other_inputs_is_not_shown_in_the_next_session(tmp_path: Path, name: str) -> None:
    (tmp_path / "main.cpp").write_text("int width = 1530;\n")
    first = await new_session(tmp_path)
    first.open(f"{PROGRAM}// reads main.cpp\n")
    await first.run(PROFILE)
    await end_session(first)
    (tmp_path / name).write_text("# 3000\n")
    second = await new_session(tmp_path)
    second.open(f"{PROGRAM}// reads main.cpp\n")
    await until(lambda: ("hipscope/status", {"state": "idle", "message": ""}) in second.custom)
    assert await second.stop_jobs() == 0
    assert second.marks == {}
    await end_session(second)


def test_the_server_answers_initialize_before_anything_heavy_is_imported() -> None:
    heavy = ("pydantic", "pandas", "numpy", "tree_sitter", "rich", "plotly", "elftools", "msgpack", "dspy",
             "hipscope.analysis.semantics")  # fmt: skip
    code = f"import sys, hipscope.server.app as a; a.create_server(); print([m for m in {heavy} if m in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def test_a_profile_in_the_history_costs_the_session_no_numerical_library() -> None:
    """It is kept by the server's own process, which holds 20 MB less without numpy."""
    heavy = ("numpy", "msgpack")
    code = "import sys, hipscope.server.reports.history_writer as _; "
    code += f"print([name for name in {heavy} if name in sys.modules])"
    shown = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert shown.stdout.strip() == "[]"


def fresh(client: Editor) -> bool:
    """Whether the finding is shown as one of the present text."""
    return "bankConflict" in client.marks and "stale" not in client.marks["bankConflict"].message


def slowness() -> float:
    """How much slower than an idle machine this one is just now; at least 1."""
    return max(1.0, os.getloadavg()[0] / (os.cpu_count() or 1))


async def test_the_error_of_a_lone_file_goes_when_a_toml_that_builds_it_appears(client: Editor) -> None:
    client.open(PROGRAM + "int x  // worker: fail\n")
    await client.run(PROFILE)
    await until(lambda: "compile" in client.marks)
    settings = client.path.with_name("hipscope.toml")
    await until(lambda: any(w.endswith("hipscope.toml") for w in client.watched))
    client.path.write_text(PROGRAM)
    client.change(PROGRAM)
    client.change_on_disk(settings, 'build = "make"\nrun = "./a"\n')
    await until(lambda: "bankConflict" in client.marks)
    assert "compile" not in client.marks


async def test_a_new_session_with_only_a_header_open_has_its_marks_and_a_save_profiles_its_program(
    tmp_path: Path,
) -> None:
    first = await new_session(tmp_path)
    header = tmp_path / "sizes.h"
    header.write_text("constexpr int kTile = 32;\n")
    first.open('#include "sizes.h"\n' + PROGRAM)
    assert (await first.run(PROFILE))["status"] == "done"
    await end_session(first)
    client = await new_session(tmp_path)
    item = lsp.TextDocumentItem(header.as_uri(), language_id="hip", version=1, text=header.read_text())
    client.text_document_did_open(lsp.DidOpenTextDocumentParams(text_document=item))
    await until(lambda: "bankConflict" in client.marks)
    header.write_text("constexpr int kTile = 64;\n")
    client.text_document_did_change(
        lsp.DidChangeTextDocumentParams(
            lsp.VersionedTextDocumentIdentifier(uri=header.as_uri(), version=2),
            [lsp.TextDocumentContentChangeWholeDocument(text=header.read_text())],
        )
    )
    client.text_document_did_save(lsp.DidSaveTextDocumentParams(lsp.TextDocumentIdentifier(header.as_uri())))
    await until(lambda: any(p.get("state") == "profiling" for _, p in client.custom))
    await end_session(client)
