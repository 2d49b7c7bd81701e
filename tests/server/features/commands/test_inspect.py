"""What is noted without a run, over the wire: as soon as a file is opened or saved, with a change that mends it."""

from __future__ import annotations

from pathlib import Path

import pytest
from lsprotocol import types as lsp

from tests.server.lsp_editor import (
    COMMAND,
    ENVIRONMENT,
    PROFILE,
    PROGRAM,
    Editor,
    end_session,
    line,
    make_client,
    start,
    until,
)

NOTED = PROGRAM.replace("__shared__ float tile[32][32];", "int mine = 0; // note wave-size")
pytestmark = pytest.mark.filterwarnings("error::pytest_lsp.LspSpecificationWarning")


async def test_a_file_that_is_opened_has_its_notes_before_any_profile(client: Editor) -> None:
    client.open(NOTED)
    note = (await until(lambda: client.marks))["wave-size"]
    assert (note.range.start.line, note.source, note.severity) == (
        1, "hipscope compile", lsp.DiagnosticSeverity.Warning,
    )  # fmt: skip


async def test_what_mends_a_note_is_an_edit_for_the_text_that_was_noted_and_no_other(client: Editor) -> None:
    client.open(NOTED)
    note = (await until(lambda: client.marks))["wave-size"]
    asked = lsp.CodeActionParams(client.document, line(1), lsp.CodeActionContext([note]))
    actions = await client.text_document_code_action_async(asked)
    fix = next(a for a in actions or [] if isinstance(a, lsp.CodeAction) and a.title == "Widen")
    assert fix.kind == "quickfix"
    assert [d.code for d in fix.diagnostics or []] == ["wave-size"]
    assert fix.edit is not None
    client.apply(fix.edit)
    assert "unsigned mine = 0;" in client.text
    assert not await client.text_document_code_action_async(asked)


async def test_a_profile_tells_the_notes_before_it_ends(client: Editor) -> None:
    client.open(PROGRAM)
    client.change(NOTED + "// worker: sleep\n")
    client.save()
    assert "wave-size" in await until(lambda: client.marks)
    assert await client.stop_jobs() == 1


async def test_a_save_without_profiles_notes_what_is_saved(client: Editor) -> None:
    client.open(PROGRAM.replace("main()", "other()"))
    client.change(NOTED.replace("main()", "other()"))
    client.save()
    assert "wave-size" in await until(lambda: client.marks)
    client.change(PROGRAM.replace("main()", "other()"))
    client.save()
    await until(lambda: not client.marks)


async def test_nothing_is_built_for_notes_in_a_folder_that_nobody_allowed(tmp_path: Path) -> None:
    client = make_client()
    await client.start_io(*COMMAND, env={**ENVIRONMENT, "XDG_STATE_HOME": str(tmp_path / "state")})
    await start(client, "neovim_0.7", tmp_path, allowed=False, waitsForCommands=True)
    client.open(NOTED)
    answer = await client.run(PROFILE)
    assert (answer["status"], client.marks) == ("failed", {})
    await end_session(client)


async def test_a_setting_keeps_a_file_from_being_compiled_before_it_is_asked_for(tmp_path: Path) -> None:
    client = make_client()
    await client.start_io(*COMMAND, env=ENVIRONMENT)
    client.set_configuration({"notesWithoutRun": False, "profileOnSave": False}, section="hipscope")
    await start(client, "neovim_0.7", tmp_path, notesWithoutRun=False, profileOnSave=False)
    client.open(NOTED)
    client.save()
    await client.stop_jobs()
    first = client.uri
    client.set_configuration({"profileOnSave": False}, section="hipscope")
    client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams({"hipscope": {}}))
    client.path = tmp_path / "other.hip"
    client.uri = client.path.as_uri()
    client.open(NOTED)
    assert "wave-size" in await until(lambda: client.marks)
    assert not client.diagnostics.get(first)
    await end_session(client)
