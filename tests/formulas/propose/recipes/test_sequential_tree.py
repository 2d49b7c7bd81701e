"""Interleaved reductions that one wave ends, where workgroups have a power of two of threads."""

from __future__ import annotations

import pytest

from tests.formulas.propose.recipes.cases import ask, candidates, read_facts

KERNEL = """// facts: {"launches": [[[65536, 1, 1], [THREADS, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out) {
  extern __shared__ float part[];
  part[threadIdx.x] = in[blockIdx.x * blockDim.x + threadIdx.x];
  __syncthreads();
  for (unsigned step = 1; step < blockDim.x; step *= 2) {
    if (threadIdx.x % (2 * step) == 0) part[threadIdx.x] += part[threadIdx.x + step];
    __syncthreads();
  }
  if (threadIdx.x == 0) out[blockIdx.x] = part[0];
}
"""
HALVED = """  for (unsigned half = blockDim.x / 2; half >= warpSize; half /= 2) {
    if (threadIdx.x < half) part[threadIdx.x] += part[threadIdx.x + half];
    __syncthreads();
  }
  // One wave has the rest"""


@pytest.mark.parametrize(("threads", "ends"), [(256, True), (64, True), (192, False), (32, False)])
def test_a_wave_ends_what_is_a_power_of_two_from_its_lanes_on(threads: int, *, ends: bool) -> None:
    source = KERNEL.replace("THREADS", str(threads)).encode()

    whole, *ended = candidates(ask("sequential_tree", source, read_facts(source)))

    assert "(left + 1) / 2" in whole.text.decode()
    assert len(ended) == ends
    for candidate in ended:
        assert HALVED in candidate.text.decode()
        assert "power of two" in candidate.assumes[0]
        assert (candidate.exact, candidate.terms) == (whole.exact, whole.terms) == (False, threads)
