"""A folder whose build files make the program: one question before the first build, whose answer is kept."""

import asyncio
from pathlib import Path

import pytest
from lsprotocol import types as lsp

from tests.server.features.commands.test_arguments import other_client
from tests.server.lsp_editor import CHOOSE_BUILD, PROFILE, PROGRAM, Editor, end_session, until

MADE = PROGRAM + "// makes 64\n"
ADOPTED = MADE + "// adopts\n"
SETTINGS = 'build = "make"\nrun = "./main 64"\n'
QUESTION = "hipscope: transpose.hip builds with `make` and runs `./main 64`, as Makefile says."


def in_a_project(client: Editor, text: str) -> Path:
    """The document in a folder with a Makefile; its settings, which are not there yet."""
    client.path.with_name("Makefile").touch()
    client.open(text)
    return client.path.with_name("hipscope.toml")


async def test_the_question_comes_before_the_first_build_and_once(client: Editor) -> None:
    client.answer = "Use it"
    settings = in_a_project(client, MADE)
    profiled = asyncio.ensure_future(client.run(PROFILE))
    await until(lambda: [p for m, p in client.custom if m == "hipscope/save"])
    assert client.questions == [QUESTION]
    assert not any("building" in text for text in client.progress_texts)
    create, change = client.edits[0].edit.document_changes or ()
    assert isinstance(create, lsp.CreateFile)
    assert isinstance(change, lsp.TextDocumentEdit)
    assert create.uri == change.text_document.uri == settings.as_uri()
    assert [e.new_text for e in change.edits if not isinstance(e, lsp.SnippetTextEdit)] == [SETTINGS]
    settings.write_text(SETTINGS)
    assert (await profiled)["status"] == "done"
    await client.run(PROFILE)
    assert len(client.questions) == 1


async def test_who_does_not_answer_gets_the_build_that_works(client: Editor) -> None:
    in_a_project(client, ADOPTED)
    assert (await client.run(PROFILE))["status"] == "done"
    assert (await client.run(PROFILE))["status"] == "done"
    assert (len(client.questions), client.edits) == (1, [])


async def test_the_status_says_that_an_answer_is_awaited_and_what_follows_it(client: Editor) -> None:
    in_a_project(client, ADOPTED)
    await client.run(PROFILE)
    statuses = [p for m, p in client.custom if m == "hipscope/status"]
    waiting = next(n for n, p in enumerate(statuses) if p["state"] == "waiting")
    assert statuses[waiting]["message"] == QUESTION.removeprefix("hipscope: ")
    assert {"profiling", "idle"} <= {p["state"] for p in statuses[waiting + 1 :]}


async def test_only_this_file_builds_it_alone_and_has_a_way_back(client: Editor) -> None:
    client.answer = "Only this file"
    in_a_project(client, ADOPTED)
    assert (await client.run(PROFILE))["status"] == "failed"
    assert (await client.run(PROFILE))["status"] == "failed"
    assert (len(client.questions), client.edits) == (1 + 2, [])
    assert "kernels.h is not there" in client.questions[1]
    client.answers = ["Choose How to Build", "No answer"]
    assert (await client.run(PROFILE))["status"] == "failed"
    await until(lambda: client.marks)
    assert client.questions[-1] == QUESTION


async def test_a_folder_without_build_files_is_asked_nothing(client: Editor) -> None:
    client.open(MADE)
    assert (await client.run(PROFILE))["status"] == "done"
    assert client.questions == []


@pytest.mark.parametrize(
    ("call", "asked"), [("main.hip part.cpp", 1), ("main.hip -DN=2", 1), ("main.hip", 0)]
)
async def test_a_readme_that_says_more_than_the_source_is_asked_about(
    client: Editor, call: str, asked: int
) -> None:
    for name in ("main.hip", "part.cpp"):
        client.path.with_name(name).touch()
    client.path.with_name("README.md").write_text(f"```\n$ hipcc {call} -o waves\n```\n")
    client.open(MADE)
    assert (await client.run(PROFILE))["status"] == "done"
    assert client.questions == [QUESTION] * asked


async def test_the_question_can_be_asked_for(client: Editor) -> None:
    in_a_project(client, MADE)
    client.answer = "Only this file"
    await client.run(PROFILE)
    client.answer = "Edit"
    assert (await client.run(CHOOSE_BUILD))["status"] == "asked"
    assert len(client.edits) == 1


@pytest.mark.parametrize("name", ["eglot_1.9", "neovim_0.7"])
async def test_a_client_is_asked_only_when_it_shows_questions(tmp_path: Path, name: str) -> None:
    client = await other_client(tmp_path, name, apply="directly")
    client.answer = "Use it"
    settings = in_a_project(client, ADOPTED)
    answer = await client.run(PROFILE)
    if name.startswith("eglot"):
        await until(lambda: any("built with `make`" in m.message for m in client.messages))
        assert (answer["status"], client.questions, client.edits) == ("done", [], [])
    else:
        await until(lambda: any("save hipscope.toml" in m.message for m in client.messages))
        assert (answer["status"], len(client.edits)) == ("asked", 1)
        client.change_on_disk(settings, SETTINGS)
        await until(lambda: client.marks)
    await end_session(client)


MADE_PART = PROGRAM[: PROGRAM.index("int main")] + "// makes 64\n"
"""A source with a kernel and without `main`."""


async def test_a_save_of_a_part_asks_by_the_build_files_above_it(client: Editor) -> None:
    """`src/kernel.hip` of a program whose Makefile lies one folder up: nothing else says how it is built."""
    root = client.path.parent
    (root / "Makefile").touch()
    (root / "src").mkdir()
    client.path = root / "src" / "kernel.hip"
    client.uri = client.path.as_uri()
    client.answer = "Use it"
    client.open(MADE_PART)
    client.save()
    await until(lambda: [p for m, p in client.custom if m == "hipscope/save"])
    assert client.questions == [QUESTION.replace("transpose.hip", "kernel.hip")]
    create, _ = client.edits[0].edit.document_changes or ()
    assert isinstance(create, lsp.CreateFile)
    assert create.uri == (root / "hipscope.toml").as_uri()
    (root / "hipscope.toml").write_text(SETTINGS)
    await until(lambda: client.marks)


async def test_a_save_of_a_program_asks_where_its_kernels_lie_in_another_folder(client: Editor) -> None:
    root = client.path.parent
    (root / "Makefile").touch()
    for name in ("src", "kernels"):
        (root / name).mkdir()
    (root / "kernels" / "scale.hip").write_text(PROGRAM)
    client.path = root / "src" / "main.cpp"
    client.uri = client.path.as_uri()
    client.answer = "Use it"
    client.open('extern "C" void scale();\nint main() { scale(); } // makes 64\n')
    client.save()
    await until(lambda: client.questions)
    assert client.questions == [QUESTION.replace("transpose.hip", "main.cpp")]


async def test_a_part_without_an_answer_stays_silent(client: Editor) -> None:
    in_a_project(client, MADE_PART)
    client.save()
    await until(lambda: client.questions)
    client.save()
    assert await client.stop_jobs() == 0
    assert (client.questions, client.edits, client.messages) == ([QUESTION], [], [])


async def test_a_folder_of_meson_is_told_that_meson_is_not_installed(client: Editor) -> None:
    client.path.with_name("meson.build").touch()
    client.answer = "Edit"
    client.open(PROGRAM + "// without meson\n")
    assert (await client.run(PROFILE))["status"] == "asked"
    (question,) = client.questions
    assert question == (
        "hipscope: transpose.hip is built by meson.build: meson is not installed, or hipscope.toml has to say how."
    )
    assert client.offered[0][1] == ["Edit", "Only this file"]
    _, change = client.edits[0].edit.document_changes or ()
    assert isinstance(change, lsp.TextDocumentEdit)
    assert "meson compile -C build" in getattr(change.edits[0], "new_text", "")


@pytest.mark.parametrize("name", ["meson.build", "compile_commands.json", "build.ninja", "configure"])
async def test_every_build_file_that_is_read_asks(client: Editor, name: str) -> None:
    client.path.with_name(name).touch()
    client.open(MADE)
    await client.run(PROFILE)
    assert client.questions == [QUESTION]
