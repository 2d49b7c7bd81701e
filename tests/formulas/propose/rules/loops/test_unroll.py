"""A loop has one unroll pragma, also where the parser leaves it out: before a loop that is the body of another one."""

from __future__ import annotations

import pytest

from hipscope.analysis.source.nodes import walk
from hipscope.analysis.source.parse import parse
from hipscope.formulas.facts.launch_facts import LaunchFacts
from hipscope.formulas.propose.candidate import Refusal
from hipscope.formulas.propose.rules.loops.unroll import deepen
from hipscope.formulas.propose.rules.shared.loop_pragmas import pragma_before, pragma_splice
from hipscope.formulas.propose.splice import apply_splices

SOURCE = """#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int n) {
  float sum = 0.0f;
  for (int i = 0; i < n; ++i)
    #pragma unroll 8
    for (int j = 0; j < n; ++j)
      sum += in[i * n + j];
  out[threadIdx.x] = sum;
}
"""


def test_a_loop_below_a_loop_is_seen_to_be_unrolled_already() -> None:
    source = SOURCE.encode()
    answer = deepen(source, parse(source).kernels[0], None, LaunchFacts(()))
    assert isinstance(answer, Refusal)
    assert "the loop on line 6 is unrolled already" in answer.reason


@pytest.mark.parametrize("above", ["// #pragma unroll 8", "int a = 0;", ""])
def test_another_line_above_stays(above: str) -> None:
    source = SOURCE.replace("#pragma unroll 8", above).encode()
    inner = [n for n in walk(parse(source).kernels[0].body_node) if n.type == "for_statement"][-1]
    assert pragma_before(inner) is None
    text = apply_splices(source, [pragma_splice(source, inner, "unroll 4", "\n", "  ")]).decode()
    assert f"{above}\n    #pragma unroll 4\n    for (int j" in text
