"""Waits of SASS are those for the loads whose registers are read."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.ingest import read_captures
from hipscope.analysis.profile import StallReason
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.detect.registry import detect_all

H200 = Path(__file__).parents[2] / "data" / "captures" / "h200_ncu"


def waited_for(folder: Path, instructions: list[str], *, reason: str = "short") -> dict[int, float]:
    """What the last of the instructions waits for, by its number."""
    header = f'"Address","Source","# Samples","Instructions Executed","stall_{reason}_sb"'
    rows = [
        f'"{16 + 16 * n:#x}","{text}","10","1","{9 if n == len(instructions) - 1 else 0}"'
        for n, text in enumerate(instructions)
    ]
    (folder / "source.csv").write_text("\n".join(['"Kernel Name","k(float *)"', header, *rows, ""]))
    (kernel,) = read_captures([folder]).kernels
    return dict(kernel.instructions[-1].waited_for)


@pytest.mark.parametrize(
    ("instructions", "producer"),
    [
        (["LDS R5, [R0]", "LDS R6, [R0+0x4]", "FADD R7, R5, R5"], 0),
        (["LDS.64 R4, [R0]", "FADD R7, R5, R5"], 0),
        (["LDS.128 R4, [R0]", "@P0 FADD R9, R7, R8"], 0),
        (["LDS R5, [R0]", "STG.E desc[UR4][R2.64], R5"], 0),
        (["ATOMS.ADD PT, R5, [R0], R1", "IADD3 R6, R5, R2, RZ"], 0),
        (["LDS R5, [R0]", "IMAD R5, R1, R2, R3"], 0),
        (["LDS R5, [R0]", "FADD R7, R6, R6"], None),
        (["LDS R5, [R0]", "BRA 0x50", "FADD R7, R5, R5"], None),
        (["LDS R5, [R0]", "@P0 BRA 0x30", "FADD R7, R5, R5"], None),
        (["LDS R5, [R0]", "@P0 BRA 0x50", "FADD R7, R5, R5"], 0),
        (["LDG.E R5, desc[UR4][R2.64]", "FADD R7, R5, R5"], None),
    ],
)
def test_a_wait_goes_to_the_access_whose_result_is_used(
    tmp_path: Path, instructions: list[str], producer: int | None
) -> None:
    assert waited_for(tmp_path, instructions) == ({} if producer is None else {producer: 9.0})


def test_a_wait_on_the_long_scoreboard_is_for_global_memory(tmp_path: Path) -> None:
    code = ["LDG.E.128.CONSTANT R4, desc[UR4][R2.64]", "LDS R9, [R0]", "FADD R8, R7, R9"]
    assert waited_for(tmp_path, code, reason="long") == {0: 9.0}


def test_bank_conflicts_of_a_real_capture_are_a_finding_on_their_line() -> None:
    profile = read_captures([H200])
    (found,) = detect_all(profile, SourceTexts())
    assert (found.formula, found.line) == ("bankConflict", 15)
    assert 0.25 < found.share < 0.35
    (kernel,) = profile.kernels
    blamed = sum(i.stalls.get(StallReason.LDS, 0.0) for i in kernel.instructions)
    assert sum(sum(i.waited_for.values()) for i in kernel.instructions) > blamed
