"""A captured dispatch of a kernel `k(const float* in, float* out, int n, float scale)`, and a judge for rewrites."""

from __future__ import annotations

import json
import struct
import sys
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest

from hipscope.accordo.dispatch.captured import read_capture_set
from hipscope.accordo.dispatch.signature import Signature
from hipscope.accordo.model.defences import NOTHING_OFF, Without
from hipscope.accordo.model.verdict import Verdict
from hipscope.accordo.proof.validate import validate
from hipscope.accordo.reference.prepare import prepare_reference
from hipscope.accordo.reference.settings import ReferenceSettings
from hipscope.accordo.replay import replay
from hipscope.accordo.replay.replay import ReplayTool
from hipscope.analysis.system.process import Completed
from hipscope.emulator.captures import seal

N = 48
KERNEL = """
def kernel(b, order):
    for i in order:
        if i < 48:
            b[1][i] = 2.0 * b[0][i]
"""
Judge = Callable[..., Verdict]


def write_capture(
    folder: Path,
    kernel: str = KERNEL,
    out_size: int = 64,
    code: str = "f",
    number: int = 1,
    first: float = -3.0,
    workgroup: int = 64,
    size: int = N,
) -> Path:
    """A capture set with a dispatch, whose after-images come from the reference itself."""
    dispatch = folder / f"dispatch_{number}"
    dispatch.mkdir(parents=True)
    inputs = [i * 0.5 + first for i in range(N)] if code == "f" else list(range(N))
    before = [struct.pack(f"<{N}{code}", *inputs), struct.pack(f"<{out_size}{code}", *([7] * out_size))]
    buffers = [
        {"index": i, "address": 4096 * (i + 1), "bytes": len(b), "referenced_by": [i], "offset_in_buffer": [0],
         "before": f"buffer_{i}.before", "code": code}
        for i, b in enumerate(before)
    ]  # fmt: skip
    for i, data in enumerate(before):
        (dispatch / f"buffer_{i}.before").write_bytes(data)
    (dispatch / "kernarg.bin").write_bytes(struct.pack("<QQif", 4096, 8192, size, 2.0))
    (dispatch / "code_object.co").write_text(kernel)
    arguments = [
        {"offset": 0, "size": 8, "value_kind": "global_buffer"},
        {"offset": 8, "size": 8, "value_kind": "global_buffer"},
        {"offset": 16, "size": 4, "value_kind": "by_value"},
        {"offset": 20, "size": 4, "value_kind": "by_value"},
        {"offset": 24, "size": 4, "value_kind": "hidden_block_count_x"},
    ]
    variables = []
    if "v[0]" in kernel:
        variables = [{"symbol": "v", "address": 1 << 20, "bytes": 4, "before": "global_0.before"}]
        (dispatch / "global_0.before").write_bytes(struct.pack("<i", 5))
    symbol = "_Z1kPKfPfif" if code == "f" else "_Z1kPKiPiif"
    meta = {
        "id": number, "kernel": symbol, "code_object": "00", "grid": [64, 1, 1],
        "workgroup": [workgroup, 1, 1],
        "dynamic_lds": 0, "kernarg_bytes": 24, "arguments": arguments, "buffers": buffers, "globals": variables,
        "complete": True, "reason": None,
    }  # fmt: skip
    (dispatch / "meta.json").write_text(json.dumps(meta))
    scope: dict[str, object] = {}
    exec(Path(__file__).with_name("fake_replay.py").read_text().split("def main(")[0], scope)
    exec(kernel, scope)
    scope |= {"n": size, "scale": 2.0, "block": workgroup, "rows": 1, "v": [5]}
    scope["lds"] = scope["unwritten"](99, 0)  # type: ignore[operator]
    images = [scope["Buffer"](b, code) for b in before]  # type: ignore[operator]
    scope["kernel"](images, list(range(64)))  # type: ignore[operator]
    for i, image in enumerate(images):
        (dispatch / f"buffer_{i}.after").write_bytes(image.data)
    if variables:
        (dispatch / "global_0.after").write_bytes(struct.pack("<i", *scope["v"]))  # type: ignore[misc]
    seal(dispatch)
    return folder


@pytest.fixture
def tool() -> ReplayTool:
    return ReplayTool((sys.executable, str(Path(__file__).with_name("fake_replay.py"))), timeout_s=20)


@pytest.fixture
def quick_replays(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replays in this process: the real way takes a process each, and the proof makes dozens."""
    scope: dict[str, Any] = {"__name__": "fake_replay"}
    exec(Path(__file__).with_name("fake_replay.py").read_text(), scope)

    def run(argv: Sequence[str], **_: object) -> Completed:
        code, said = 0, ""
        try:
            scope["main"](list(argv[2:]))
        except SystemExit as left:
            code, said = 1, str(left.code)
        return Completed(tuple(argv), code, b"", said.encode(), timed_out=False, seconds=0.1)

    monkeypatch.setattr(replay, "run_process", run)


@pytest.fixture
def judge(tmp_path: Path, tool: ReplayTool, quick_replays: None) -> Judge:
    """`judge(candidate, reference=..., exact=...)`: the verdict on a Python text in the candidate's place."""

    def judged(
        candidate: str,
        reference: str = KERNEL,
        exact: bool = True,
        code: str = "f",
        without: Without = NOTHING_OFF,
        firsts: tuple[float, ...] = (-3.0,),
        workgroup: int = 64,
        size: int = N,
        **settings: Any,
    ) -> Verdict:
        folder = Path(tempfile.mkdtemp(dir=tmp_path))
        capture = folder / "capture"
        for number, first in enumerate(firsts, 1):
            write_capture(
                capture, reference, code=code, number=number, first=first, workgroup=workgroup, size=size
            )
        chosen = ReferenceSettings(
            tool, Path("/nowhere/llvm-cxxfilt"), folder / "work", without=without, **settings
        )
        kind = "float" if code == "f" else "int"
        signature = Signature(("in", "out", "n", "scale"), (f"const {kind}*", f"{kind}*", "int", "float"))
        prepared = prepare_reference(read_capture_set(capture), chosen, signature)
        file = folder / "candidate.py"
        file.write_text(candidate)
        return validate(prepared, file, exact=exact)

    return judged
