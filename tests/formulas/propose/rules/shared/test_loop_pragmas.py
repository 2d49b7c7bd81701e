"""A loop has one unroll pragma, also where the parser leaves it out: before a loop that is the body of another one."""

from __future__ import annotations

import pytest

from hipscope.analysis.source.nodes import walk
from hipscope.analysis.source.parse import parse
from hipscope.formulas.propose.rules.shared.loop_pragmas import pragma_before, pragma_splice, pragma_text
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


@pytest.mark.parametrize("above", ["#pragma unroll 8", "// #pragma unroll 8", "int a = 0;", ""])
def test_a_pragma_takes_the_place_of_one_and_other_lines_stay(above: str) -> None:
    source = SOURCE.replace("#pragma unroll 8", above).encode()
    inner = [n for n in walk(parse(source).kernels[0].body_node) if n.type == "for_statement"][-1]
    kept = "" if pragma_text(source, inner) is not None else f"{above}\n    "
    assert (kept == "") == above.startswith("#")
    assert pragma_before(inner) is None
    text = apply_splices(source, [pragma_splice(source, inner, "unroll 4", "\n", "  ")]).decode()
    assert f"{kept}#pragma unroll 4\n    for (int j" in text
    assert text.count("#pragma") == 1 + (above.startswith("//"))
