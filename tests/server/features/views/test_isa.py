"""The machine code of a kernel beside its source: costs, producers, and lines of the text as it is now."""

from pathlib import Path
from typing import Any

import pytest
from lsprotocol import types as lsp
from pygls.exceptions import JsonRpcException

from hipscope.analysis.run import Run
from hipscope.server.jobs.tasks import TaskRequest, profile
from hipscope.server.reports.isa_store import load_isa
from tests.server.features.commands.test_arguments import other_client
from tests.server.lsp_editor import PROFILE, PROGRAM, Editor, as_dict, end_session, until
from tests.server.schemas import problems

WITH_ISA = PROGRAM + "// isa\n"
REAL = """\
#include <hip/hip_runtime.h>
__global__ void scale(float* p) {
  p[threadIdx.x] *= 2.0f;
}
int main() {
  float* p;
  hipMalloc(&p, 256);
  scale<<<1, 64>>>(p);
  return hipDeviceSynchronize();
}
"""


async def isa(client: Editor, **asked: Any) -> Any:
    answer = client.protocol.send_request_async("hipscope/isa", {"uri": client.uri, **asked})  # type: ignore[no-untyped-call]
    return as_dict(await answer)


async def test_instructions_have_costs_producers_and_their_line_as_the_text_is_now(client: Editor) -> None:
    client.open(WITH_ISA)
    await client.run(PROFILE)
    found = await isa(client, position={"line": 3, "character": 0})
    assert problems(found) == []
    assert (found["kernel"], found["provenance"], found["stale"]) == ("transpose", "modelled", False)
    assert [(i["text"], i["uri"], i["line"]) for i in found["instructions"]] == [
        ("ds_read_b32 v0", client.uri, 2),
        ("ds_read_b32 v1", client.uri, 3),
    ]
    assert [p["index"] for p in found["instructions"][1]["producers"]] == [0]
    client.change("\n\n" + WITH_ISA)
    assert [i["line"] for i in (await isa(client))["instructions"]] == [4, 5]


async def test_without_a_profile_or_such_a_kernel_it_says_what_to_do(client: Editor) -> None:
    client.open(WITH_ISA)
    with pytest.raises(JsonRpcException, match="profile it first"):
        await isa(client)
    await client.run(PROFILE)
    with pytest.raises(JsonRpcException, match="its kernels: transpose"):
        await isa(client, kernel="nothing")


async def test_any_client_can_have_it_as_a_file_of_assembler(tmp_path: Path) -> None:
    client = await other_client(tmp_path)
    client.open(WITH_ISA)
    await client.run(PROFILE)
    answer = await client.run("hipscope.server.isa")
    (shown,) = await until(lambda: client.shown_documents)
    assert isinstance(shown, lsp.ShowDocumentParams)
    assert shown.uri == answer["uri"]
    lines = Path(answer["uri"].removeprefix("file://")).read_text().splitlines()
    assert lines[0] == "; transpose: 2 instructions, modelled cycles"
    assert lines[2].split(maxsplit=2)[2] == "; 50 % · LDS · waits for line 2 · transpose.hip:4"
    await end_session(client)


def test_a_real_profile_keeps_the_machine_code_of_its_kernels(tmp_path: Path) -> None:
    source = tmp_path / "scale.hip"
    source.write_text(REAL)
    report = profile(TaskRequest(source, keep_isa=True), Run())
    found = load_isa(source, report.inputs, report.kernels[0].mangled)
    assert found is not None
    assert "s_endpgm" in [one.text.split()[0] for one in found.instructions]
    assert {(one.file, one.line) for one in found.instructions} >= {(str(source), 3)}
