"""`hipscope.toml` in an editor: its mistakes on their keys, its keys on request, and what they mean."""

import pytest
from lsprotocol import types as lsp

from hipscope.server.features.settings_file.document import complete, diagnose, hover
from tests.server.lsp_editor import Editor, position, until


@pytest.mark.parametrize(
    ("text", "line", "characters", "message"),
    [
        ('build = "make"\nrun = "./a"\nmin_shar = 0.1\n', 2, (0, 8), "did you mean `min_share`?"),
        ("[emulator]\n\n  time_budget_s = -1\n", 2, (2, 15), "emulator.time_budget_s"),
        ('formulas = ["bankConflict", "nothing"]\n', 0, (0, 8), "unknown formula `nothing`"),
        ('build = "make"\n', 0, (0, 5), "`build` needs `run` beside it"),
        ("build = \n", 0, None, "not valid TOML"),
        (
            '[[bench]]\nfile = "a.hip"\nline = "k"\n[[bench]]\nfile = 3\nline = "k"\n',
            4,
            (0, 4),
            "bench.1.file",
        ),
    ],
)
def test_a_mistake_stands_at_its_key(
    text: str, line: int, characters: tuple[int, int] | None, message: str
) -> None:
    (found,) = diagnose(text)
    assert message in found.message
    assert found.range.start.line == line
    if characters is not None:
        assert (found.range.start.character, found.range.end.character) == characters


def test_settings_without_a_mistake_have_no_diagnostics() -> None:
    assert diagnose('build = "make"\nrun = "./a"\n[emulator]\nthreads = 2\n') == []


def test_a_key_says_what_it_means_and_its_default() -> None:
    found = hover("[emulator]\ntime_budget_s = 3\n", position(1, 4))
    assert found is not None
    assert isinstance(found.contents, lsp.MarkupContent)
    assert found.contents.value.startswith("**emulator.time_budget_s** ")
    assert "seconds" in found.contents.value.lower()
    assert hover("[emulator]\n", position(0, 3)) is None


def test_only_the_keys_of_the_table_that_are_not_there_are_offered() -> None:
    top = {item.label for item in complete('build = "make"\nru\n', position(1, 2))}
    assert "run" in top
    assert not top & {"build", "threads"}
    assert "threads" in {item.label for item in complete("[emulator]\nth\n", position(1, 2))}
    assert {"emulator", "llm"} <= {item.label for item in complete("[e\n", position(0, 2))}
    assert complete('build = "', position(0, 9)) == []


async def test_an_editor_that_opens_it_sees_mistakes_as_it_types_and_none_when_it_is_closed(
    client: Editor,
) -> None:
    client.path = client.path.with_name("hipscope.toml")
    client.uri = client.path.as_uri()
    client.open('buidl = "make"\n')
    (mark,) = await until(lambda: client.diagnostics.get(client.uri))
    assert "did you mean `build`?" in mark.message
    asked = lsp.CompletionParams(client.document, position(1, 0))
    offered = await client.text_document_completion_async(asked)
    assert isinstance(offered, list)
    assert "run" in {item.label for item in offered}
    client.change('build = "make"\nrun = "./a"\n')
    await until(lambda: not client.diagnostics[client.uri])
    client.change("nothing = 1\n")
    await until(lambda: client.diagnostics[client.uri])
    client.text_document_did_close(lsp.DidCloseTextDocumentParams(client.document))
    await until(lambda: not client.diagnostics[client.uri])
