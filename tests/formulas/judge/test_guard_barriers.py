"""Barriers that not all threads reach: which are new, and which were there before the rewrite."""

from __future__ import annotations

import pytest

from hipscope.analysis.source.parse import parse
from hipscope.formulas.judge.guard import check_source

LEAVES = b"""__global__ void k(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  out[i] = in[i];
  __syncthreads();
  out[i] += out[n - 1 - i];
}
"""
GUARDED = LEAVES.replace(b"if (i >= n) return;", b"if (blockIdx.x * 64 + threadIdx.x < n) {").replace(
    b"\n}", b"\n  }\n}"
)
NUMBER = b"  const unsigned group = gridDim.x - 1 - blockIdx.x;\n"


def refusals(original: bytes, candidate: bytes) -> tuple[str, ...]:
    kernel = parse(original).kernel("k")
    assert kernel is not None
    return check_source(original, candidate, kernel)


@pytest.mark.parametrize("original", [LEAVES, GUARDED], ids=["leaves", "guarded"])
def test_a_barrier_that_diverged_before_may_stand_on_another_line(original: bytes) -> None:
    assert refusals(original, original.replace(b"  const int i", b"  // a word\n  const int i")) == ()


@pytest.mark.parametrize("original", [LEAVES, GUARDED], ids=["leaves", "guarded"])
def test_the_number_of_the_workgroup_may_have_a_name_there(original: bytes) -> None:
    renumbered = original.replace(b"blockIdx.x", b"group").replace(
        b"  const int i", NUMBER + b"  const int i"
    )
    assert refusals(original, renumbered) == ()


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (b"__syncthreads();", b"__syncthreads(); __syncthreads();"),
        (b"if (i >= n) return;", b"if (i >= n - 1) return;"),
        (b"__syncthreads();", b"if (threadIdx.x < 32) __syncthreads();"),
    ],
    ids=["one more", "another condition", "another divergence"],
)
def test_another_divergence_is_refused(old: bytes, new: bytes) -> None:
    (reason,) = refusals(LEAVES, LEAVES.replace(old, new))
    assert "not all threads of a workgroup reach the barrier on line 5" in reason
