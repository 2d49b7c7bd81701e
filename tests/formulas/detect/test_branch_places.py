"""Where the finding on divergent branches stands."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.analysis.profile import Frame, Instruction, StallReason
from hipscope.analysis.source.texts import SourceTexts
from hipscope.formulas.detect.registry import detect_all
from tests.formulas.detect.test_dataflow import kernel_of
from tests.formulas.detect.test_numbers import instruction, only, other, profile_of
from tests.formulas.hand_made import modelled_profile

TEXT = """__global__ void k(const char* in, int* out) {
  if (in[threadIdx.x] == 'A')
    out[threadIdx.x] = 1;
}
"""


@pytest.mark.parametrize(("at_branch", "line"), [(300.0, 2), (1.0, 4)])
def test_a_closing_brace_is_named_only_where_no_branch_is(
    tmp_path: Path, at_branch: float, line: int
) -> None:
    source = tmp_path / "k.hip"
    source.write_text(TEXT)
    rows = [(2, at_branch, 20), (4, 500.0, 20), (1, 500.0, 64)]
    code = tuple(
        Instruction(
            index=n, address=8 * n, text="v_add_u32_e32 v0, 1, v0", hits=1, lanes=lanes, latency=latency,
            source=(Frame(file=str(source), line=at, column=3),),
        )
        for n, (at, latency, lanes) in enumerate(rows)
    )  # fmt: skip
    kernel = kernel_of("s_endpgm").model_copy(update={"instructions": code})
    (found,) = detect_all(modelled_profile(kernel), SourceTexts(), formulas=["branchDivergence"])
    assert found.line == line


@pytest.mark.parametrize(
    ("hits", "lanes", "lost"),
    [
        (100, 1, False),  # one thread of a workgroup publishes its sum
        (100, 8, False),  # one wave of a workgroup adds up what the four left
        (400, 1, False),  # one lane of each wave
        (400, 20, True),  # each wave goes this way with a third of its lanes
        (4000, 1, True),  # one lane works ten times
    ],
)
def test_work_that_is_done_once_loses_nothing_to_idle_lanes(hits: int, lanes: int, lost: bool) -> None:
    branch = instruction(
        "v_add_u32_e32 v0, 1, v0", 40000.0, StallReason.DEPENDENCY, None, hits=hits, lanes=lanes
    )
    profile = profile_of(
        branch,
        other(40000.0),
        instruction("s_endpgm", 0.0, StallReason.DEPENDENCY, None, hits=400),
        groups=100,
    )
    assert (only(profile, "branchDivergence") is not None) == lost
