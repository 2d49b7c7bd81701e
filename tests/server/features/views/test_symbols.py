"""Kernels by what they cost, in the outline, the symbol search and a request of their own."""

import re

from lsprotocol import types as lsp

from tests.server.lsp_editor import PROFILE, PROGRAM, Editor, as_dict, until

TWO = PROGRAM.replace(
    "int main", "__global__ void copy(float* p) {\n  p[0] = 1;  // cost 0.9 global_memory\n}\nint main"
)


async def test_kernels_are_symbols_with_their_time_share_and_bound(client: Editor) -> None:
    client.open(TWO)
    await client.run(PROFILE)
    await until(lambda: client.marks)
    symbols = await client.text_document_document_symbol_async(lsp.DocumentSymbolParams(client.document))
    assert [s.name for s in symbols or ()] == ["transpose", "copy"]
    first = (symbols or ())[0]
    assert isinstance(first, lsp.DocumentSymbol)
    assert "us" in (first.detail or "")
    assert "LDS bound" in (first.detail or "")
    assert (first.selection_range.start.line, first.range.end.line) == (0, 4)


async def test_the_symbol_search_finds_kernels_by_name(client: Editor) -> None:
    client.open(TWO)
    await client.run(PROFILE)
    await until(lambda: client.marks)
    found = await client.workspace_symbol_async(lsp.WorkspaceSymbolParams(query="COP"))
    assert [s.name.split()[0] for s in found or ()] == ["copy"]
    assert await client.workspace_symbol_async(lsp.WorkspaceSymbolParams(query="nothing")) == []


async def test_the_request_gives_each_kernel_its_cost_place_and_findings(client: Editor) -> None:
    client.open(TWO)
    await client.run(PROFILE)
    await until(lambda: client.marks)
    answer = as_dict(await client.protocol.send_request_async("hipscope/kernels", {"uri": client.uri}))  # type: ignore[no-untyped-call]
    by_name = {row["name"]: row for row in answer["kernels"]}
    assert set(by_name) == {"transpose", "copy"}
    row = by_name["transpose"]
    assert (row["uri"], row["range"]["start"]["line"], row["provenance"]) == (client.uri, 0, "modelled")
    assert [(f["formula"], f["line"]) for f in row["findings"]] == [("bankConflict", 3)]
    assert by_name["copy"]["findings"] == []


async def test_a_program_as_a_whole_has_its_time_its_top_kernel_and_what_binds_it(client: Editor) -> None:
    async def project() -> dict[str, object]:
        return as_dict(await client.protocol.send_request_async("hipscope/project", {"uri": client.uri}))  # type: ignore[no-untyped-call,no-any-return]

    client.open(TWO)
    assert await project() is None
    await client.run(PROFILE)
    await until(lambda: client.marks)
    found = await project()
    assert (found["name"], found["kernels"], found["findings"], found["stale"]) == (
        "transpose.hip",
        2,
        1,
        False,
    )
    rows = as_dict(await client.protocol.send_request_async("hipscope/kernels", {}))["kernels"]  # type: ignore[no-untyped-call]
    assert found["timeNs"] == sum(row["timeNs"] for row in rows)
    assert re.fullmatch(r"61\.7 us · (transpose|copy) \d+ % · LDS bound", str(found["summary"]))
    # A document of no profile: the program that was profiled last.
    other = as_dict(
        await client.protocol.send_request_async("hipscope/project", {"uri": "file:///elsewhere.hip"})  # type: ignore[no-untyped-call]
    )
    assert other == found
    client.change(TWO.replace("tile[n][n]/*slow*/", "tile[n][0]"))
    changed = await project()
    assert (changed["stale"], changed["findings"]) == (True, 0)
