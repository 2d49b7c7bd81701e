"""The arguments of a program are its own: written in its source or its toml, asked for once, never those of another."""

import asyncio
from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from tests.server.lsp_editor import (
    COMMAND,
    ENVIRONMENT,
    PROFILE,
    PROGRAM,
    Editor,
    as_dict,
    end_session,
    make_client,
    start,
    until,
)
from tests.server.schemas import problems

SET = "hipscope.server.setArguments"
WANTS = PROGRAM + "// worker: usage\n"


async def described(client: Editor, uri: str | None = None) -> Any:
    answer = client.protocol.send_request_async("hipscope/arguments", {"uri": uri or client.uri})  # type: ignore[no-untyped-call]
    return as_dict(await answer)


async def has_arguments(client: Editor, uri: str, arguments: list[str]) -> None:
    async with asyncio.timeout(20):
        while (await described(client, uri))["arguments"] != arguments:
            await asyncio.sleep(0.02)


async def other_client(folder: Path, name: str = "vscode_1.139", **options: Any) -> Editor:
    client = make_client()
    await client.start_io(*COMMAND, env=ENVIRONMENT)
    await start(client, name, folder, waitsForCommands=True, **options)
    return client


async def test_arguments_are_written_into_the_source_and_the_program_is_profiled_with_them(
    client: Editor,
) -> None:
    client.applies = True
    client.open(WANTS)
    answer = await client.run(SET, arguments=["64", "a b"])
    assert answer["applied"] is True
    assert client.text == "// hipscope: run 64 'a b'\n" + WANTS
    await until(lambda: "bankConflict" in client.marks)
    assert (await described(client))["arguments"] == ["64", "a b"]
    assert (await described(client))["namedBy"] == "source"


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("int n; // hipscope: run 5\nint m;\n", "int n; // hipscope: run 64\nint m;\n"),
        ("/* hipscope: run 5 */ int m;\n", "/* hipscope: run 64 */ int m;\n"),
        ("int m;\r\n", "// hipscope: run 64\r\nint m;\r\n"),
        ("/* Ü𝕏 */ // hipscope: run 5\n", "/* Ü𝕏 */ // hipscope: run 64\n"),
    ],
)
async def test_only_the_comment_itself_is_replaced(client: Editor, before: str, after: str) -> None:
    client.open(before)
    await client.run(SET, arguments="64")
    (change,) = client.edits[0].edit.document_changes or ()
    assert isinstance(change, lsp.TextDocumentEdit)
    (edit,) = change.edits
    assert not isinstance(edit, lsp.SnippetTextEdit)
    lines = before.splitlines(keepends=True)

    def offset(at: lsp.Position) -> int:
        units = lines[at.line].encode("utf-16-le")[: 2 * at.character] if at.line < len(lines) else b""
        return sum(map(len, lines[: at.line])) + len(units.decode("utf-16-le"))

    new = before[: offset(edit.range.start)] + edit.new_text + before[offset(edit.range.end) :]
    assert new == after


async def test_of_a_project_only_run_of_its_toml_changes(client: Editor) -> None:
    settings = client.path.with_name("hipscope.toml")
    settings.write_text('build = "make"\nrun = "./app 5 > log"  # often\nargs = []\n')
    client.open()
    assert (await described(client))["arguments"] == ["5"]
    assert (await described(client))["writes"] == "toml"
    assert (await client.run(SET, arguments=["64"]))["uri"] == settings.as_uri()
    (change,) = client.edits[0].edit.document_changes or ()
    assert isinstance(change, lsp.TextDocumentEdit)
    assert change.text_document.uri == settings.as_uri()
    assert [e.new_text for e in change.edits if not isinstance(e, lsp.SnippetTextEdit)] == [
        'run = "./app 64 > log"'
    ]
    await until(lambda: [p for m, p in client.custom if m == "hipscope/save"])


async def test_another_client_is_offered_what_the_makefile_runs(tmp_path: Path) -> None:
    client = await other_client(tmp_path, apply="directly")
    client.applies = True
    client.answers = ["Set arguments...", "Run with 64 --fast"]
    client.open(WANTS + "// makes 64 --fast\n")
    await client.run(PROFILE)
    await until(lambda: "bankConflict" in client.marks)
    assert "exit code 2" in client.questions[0]
    assert "Makefile" in client.questions[1]
    assert client.text.startswith("// hipscope: run 64 --fast\n")
    await end_session(client)


async def test_what_a_script_starts_the_program_with_is_a_button(tmp_path: Path) -> None:
    client = await other_client(tmp_path, apply="directly")
    client.applies = True
    client.path.with_name("run.sh").write_text(f"srun -n 1 {client.path.stem} 64 --fast > log\n")
    client.answers = ["Run with 64 --fast"]
    client.open(WANTS + "// makes 64 --fast\n")
    await client.run(PROFILE)
    await until(lambda: "bankConflict" in client.marks)
    assert client.text.startswith("// hipscope: run 64 --fast\n")
    await end_session(client)


async def test_a_program_that_lacks_a_file_is_told_of_without_a_button_for_arguments(client: Editor) -> None:
    client.open(PROGRAM + "// worker: lacks\n")
    await client.run(PROFILE)
    await until(lambda: any("exit code 2" in m.message for m in client.messages))
    assert client.questions == []


async def test_the_setting_never_replaces_what_a_program_says_of_itself(client: Editor) -> None:
    client.set_configuration({"programArguments": ["9"]}, section="hipscope")
    client.workspace_did_change_configuration(lsp.DidChangeConfigurationParams(settings=None))
    client.open()
    await has_arguments(client, client.uri, ["9"])
    client.change("// hipscope: run 64\n" + PROGRAM)
    assert (await described(client))["arguments"] == ["64"]
    client.change(PROGRAM)
    client.path.with_name("hipscope.toml").write_text('args = ["7"]\n')
    found = await described(client)
    assert (found["arguments"], found["namedBy"]) == (["7"], "toml")


async def test_two_folders_do_not_share_arguments(client: Editor) -> None:
    folders = []
    for name in ("one", "two"):
        folder = client.path.parent / name
        folder.mkdir()
        (folder / "a.hip").write_text(PROGRAM)
        folders.append(lsp.WorkspaceFolder(uri=folder.as_uri(), name=name))
        client.set_configuration({"programArguments": [name]}, section="hipscope", scope_uri=folder.as_uri())
    event = lsp.WorkspaceFoldersChangeEvent(added=folders, removed=[])
    client.workspace_did_change_workspace_folders(lsp.DidChangeWorkspaceFoldersParams(event=event))
    for known in folders:
        await has_arguments(client, f"{known.uri}/a.hip", [known.name])
    assert (await described(client))["arguments"] == []


async def test_arguments_that_no_comment_can_hold_are_refused(client: Editor) -> None:
    client.open()
    for given in (["a\nb"], ["a*/"], [1], "'"):
        with pytest.raises(JsonRpcException, match="argument"):
            await client.run(SET, arguments=given)
    assert client.edits == []


async def test_what_the_build_files_make_is_a_request_of_its_own(client: Editor) -> None:
    client.open(PROGRAM + "// makes 64\n")
    answer = as_dict(await client.protocol.send_request_async("hipscope/builds", {"uri": client.uri}))  # type: ignore[no-untyped-call]
    assert problems(answer) == []
    assert [(one["build"], one["arguments"]) for one in answer["builds"]] == [("make", ["64"])]
