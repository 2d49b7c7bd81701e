"""A capture of another machine in an editor: its marks on the open file, measured."""

from __future__ import annotations

import json
from pathlib import Path

from hipscope.server.features.commands import OPEN_PROFILE
from tests.server.lsp_editor import PROGRAM, Editor, as_dict, until

THERE = "/cluster/job/src/transpose.hip"
HEADER = "ISA, _, LineNumber, Source, Codeobj, Vaddr, Hit, Latency, Stall, Idle"


def write_capture(folder: Path, profiled: str | None = None) -> Path:
    """A launch with a thread trace whose wave waits in line 4; with the text that was profiled, if it is given."""
    trace = folder / "ui_output_agent_4_dispatch_1"
    trace.mkdir(parents=True)
    (folder / "out_kernel_trace.csv").write_text(
        '"Kind","Dispatch_Id","Kernel_Name","Start_Timestamp","End_Timestamp"\n'
        '"KERNEL_DISPATCH",1,"transpose(float*, int)",1000,51000\n'
    )
    rows = [
        ["; _Z9transposePfi", 0, 0, "transpose(float*, int)", 1, 256, 0, 0, 0, 0],
        ["global_load_dword v1, v0, s[0:1]", 0, 1, f"{THERE}:3", 1, 256, 10, 40, 0, 0],
        ["s_waitcnt vmcnt(0)", 0, 2, f"{THERE}:4", 1, 264, 10, 900, 860, 0],
    ]
    (trace / "code.json").write_text(json.dumps({"code": rows, "version": "3.0.0", "header": HEADER}))
    (trace / "filenames.json").write_text(json.dumps({"wave_filenames": None, "thread_trace": True}))
    if profiled is not None:
        (trace / "source_0_transpose.hip").write_text(profiled)
        tree = {"/": {"cluster": {"job": {"src": {"transpose.hip": "source_0_transpose.hip"}}}}}
        (trace / "snapshots.json").write_text(json.dumps(tree))
    return folder


async def test_a_capture_puts_measured_marks_on_the_open_file(client: Editor, tmp_path: Path) -> None:
    client.open()
    capture = write_capture(tmp_path / "capture")
    answer = as_dict(await client.run(OPEN_PROFILE, path=str(capture)))
    assert (answer["status"], answer["provenance"], answer["kernels"]) == ("done", "measured", 1)
    assert answer["files"] == [str(client.path)]
    (mark,) = (await until(lambda: client.marks)).values()
    assert mark.range.start.line == 2
    assert mark.message.endswith("of GPU time at stake, measured]")
    assert "changed" not in mark.message


async def test_marks_stand_on_the_lines_that_the_profiled_text_has_now(
    client: Editor, tmp_path: Path
) -> None:
    client.open("// new\n// lines\n" + PROGRAM)
    client.path.write_text("// new\n// lines\n" + PROGRAM)
    capture = write_capture(tmp_path / "capture", PROGRAM)
    await client.run(OPEN_PROFILE, path=str(capture))
    (mark,) = (await until(lambda: client.marks)).values()
    assert mark.range.start.line == 4


async def test_the_request_of_that_name_does_the_same_and_names_what_it_cannot_open(
    client: Editor, tmp_path: Path
) -> None:
    client.open()
    capture = write_capture(tmp_path / "capture")
    asked = client.protocol.send_request_async("hipscope/openProfile", {"uri": capture.as_uri()})  # type: ignore[no-untyped-call]
    answer = as_dict(await asked)
    assert answer["status"] == "done"
    failed = as_dict(await client.run(OPEN_PROFILE, path=str(tmp_path / "nothing")))
    assert failed["status"] == "failed"
    assert "nothing" in failed["message"]
