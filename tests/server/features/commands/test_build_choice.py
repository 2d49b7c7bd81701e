"""A program that does not build alone: one question, whose answer writes the settings or is kept."""

from pathlib import Path

import pytest
from lsprotocol import types as lsp

from tests.server.features.commands.test_arguments import other_client
from tests.server.lsp_editor import PROFILE, PROGRAM, Editor, end_session, until

ADOPTED = PROGRAM + "// adopts\n"
SETTINGS = 'build = "make"\nrun = "./main 64"\n'


async def test_use_it_writes_the_settings_as_an_edit_and_the_question_comes_once(client: Editor) -> None:
    client.answer = "Use it"
    client.open(ADOPTED)
    await client.run(PROFILE)
    await until(lambda: [p for m, p in client.custom if m == "hipscope/save"])
    assert client.questions == [
        "hipscope: transpose.hip does not build alone. Builds with `make`, runs `./main 64`."
    ]
    create, change = client.edits[0].edit.document_changes or ()
    assert isinstance(create, lsp.CreateFile)
    assert isinstance(change, lsp.TextDocumentEdit)
    assert create.uri == change.text_document.uri == client.path.with_name("hipscope.toml").as_uri()
    assert [e.new_text for e in change.edits if not isinstance(e, lsp.SnippetTextEdit)] == [SETTINGS]
    await client.run(PROFILE)
    assert len(client.questions) == 1


async def test_only_this_file_builds_it_alone_from_then_on(client: Editor) -> None:
    client.answer = "Only this file"
    client.open(ADOPTED)
    await client.run(PROFILE)
    await until(lambda: any("kernels.h is not there" in m.message for m in client.messages))
    assert (await client.run(PROFILE))["status"] == "failed"
    assert (len(client.questions), client.edits) == (1, [])


@pytest.mark.parametrize("name", ["eglot_1.9", "neovim_0.7"])
async def test_a_client_is_asked_only_when_it_shows_questions(tmp_path: Path, name: str) -> None:
    client = await other_client(tmp_path, name, apply="directly")
    client.answer = "Use it"
    client.open(ADOPTED)
    await client.run(PROFILE)
    if name.startswith("eglot"):
        await until(lambda: any("built with `make`" in m.message for m in client.messages))
        assert (client.questions, client.edits) == ([], [])
    else:
        await until(lambda: any("save hipscope.toml" in m.message for m in client.messages))
        assert len(client.edits) == 1
    await end_session(client)
