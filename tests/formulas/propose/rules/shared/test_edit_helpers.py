"""Texts that several recipes write."""

import pytest

from hipscope.analysis.source.nodes import child_of, walk
from hipscope.analysis.source.parse import parse
from hipscope.formulas.propose.rules.shared.edit_helpers import negated


@pytest.mark.parametrize(
    ("condition", "opposite"),
    [
        ("i >= n", "i < n"),
        ("blockIdx.x >= working", "blockIdx.x < working"),
        ("hipThreadIdx_x == 0", "hipThreadIdx_x != 0"),
        ("x < 1.0f", "!(x < 1.0f)"),  # a NaN is neither
        ("blockIdx.w >= working", "!(blockIdx.w >= working)"),
        ("i >= n || x < 1.0f", "i < n && !(x < 1.0f)"),
    ],
)
def test_comparisons_of_integers_are_turned(condition: str, opposite: str) -> None:
    source = f"""__global__ void k(int n, float x, float* out) {{
  const unsigned working = gridDim.x / 2;
  int i = threadIdx.x;
  if ({condition}) return;
  out[i] = 1.0f;
}}
"""
    (kernel,) = parse(source.encode()).kernels
    (asked,) = (n for n in walk(kernel.body_node) if n.type == "if_statement")
    assert negated(child_of(child_of(asked, "condition"), "value"), kernel) == opposite
