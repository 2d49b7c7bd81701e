"""A file of kernels without `main` in an editor: the lens that writes a bench, and saves that run it."""

from __future__ import annotations

from lsprotocol import types as lsp

from hipscope.server.features.commands import BENCH, PROFILE
from tests.server.lsp_editor import PROGRAM, Editor, as_dict, position, until

KERNELS = PROGRAM.partition("int main")[0]
LINE = "// hipscope: bench transpose grid=n block=256 p=[n] n=65536"


async def lenses(client: Editor) -> list[tuple[int, str, str]]:
    asked = lsp.CodeLensParams(text_document=client.document)
    found = await client.text_document_code_lens_async(asked) or []
    return [
        (lens.range.start.line, lens.command.title, lens.command.command) for lens in found if lens.command
    ]


async def test_the_lens_of_a_kernel_without_a_program_writes_its_first_bench(client: Editor) -> None:
    client.open(KERNELS)
    assert await lenses(client) == [(0, "Profile with...", BENCH)]

    answer = as_dict(await client.run(BENCH, kernel="transpose"))

    assert answer["applied"] is True
    edit = client.edits[0].edit
    change = edit.document_changes[0] if edit.document_changes else None
    assert isinstance(change, lsp.TextDocumentEdit)
    (written,) = change.edits
    assert isinstance(written, lsp.TextEdit)
    assert (written.range.start, written.range.end) == (position(0, 0), position(0, 0))
    assert written.new_text == f"{LINE}\n"


async def test_the_bench_is_written_for_the_kernel_at_the_cursor(client: Editor) -> None:
    client.open(KERNELS)

    assert as_dict(await client.run(BENCH, position={"line": 2, "character": 3}))["applied"] is True
    assert as_dict(await client.run(BENCH, position={"line": 40, "character": 0}))["status"] == "failed"


async def test_a_save_of_a_file_with_a_bench_profiles_and_marks_its_lines(client: Editor) -> None:
    client.open(KERNELS)
    client.save()
    assert await client.stop_jobs(client.uri) == 0
    client.change(f"{LINE}\n{KERNELS}")
    assert await lenses(client) == [(1, "Profile with hipscope", PROFILE)]

    client.save()

    mark = (await until(lambda: client.marks))["bankConflict"]
    assert mark.range.start.line == 4


async def test_a_bench_of_the_settings_counts_as_one_of_the_file(client: Editor) -> None:
    client.open(KERNELS)
    settings = client.path.with_name("hipscope.toml")
    settings.write_text(
        f'[[bench]]\nfile = "{client.path.name}"\nline = "transpose grid=1 block=1 p=[1] n=1"\n'
    )

    client.save()

    assert (await until(lambda: client.marks))["bankConflict"].range.start.line == 3
