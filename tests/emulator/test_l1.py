"""Known answers for the L1 of a CU: which lines of a workgroup it keeps from one pass over them to the next."""

from __future__ import annotations

import pytest

from hipscope.emulator.raw import read_dispatches
from tests.emulator.hip_run import record

PASSES = 32  # each reads another word of the same lines
STRIDES = (1, 2, 3, 6, 7, 8, 12, 32, 48, 64)
SOURCE = f"""
#include <hip/hip_runtime.h>
// Each thread has a cache line of its own, `stride` lines from the next thread's.
__global__ void rows(const float* a, float* sums, int stride) {{
    float sum = 0;
    for (int word = 0; word < {PASSES}; ++word) {{
        sum += a[threadIdx.x * stride * 32 + word];
        __syncthreads();
    }}
    sums[threadIdx.x] = sum;
}}
int main() {{
    float *a, *sums;
    if (hipMalloc(&a, 4 << 20) != hipSuccess || hipMalloc(&sums, 4096) != hipSuccess) return 1;
    for (int stride : {{{", ".join(map(str, STRIDES))}}})
        for (int threads : {{192, 320}}) rows<<<1, threads>>>(a, sums, stride);
    return hipDeviceSynchronize() != hipSuccess;
}}
"""


@pytest.fixture(scope="module")
def requests(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[int, int], float]:
    """Stride in lines and number of threads -> lines that the L1 asked the L2 for, per line that was used."""
    folder = tmp_path_factory.mktemp("l1")
    source = folder / "rows.hip"
    source.write_text(SOURCE)
    out = record(source, folder, "mi300x", 2 * len(STRIDES))
    launches = [(stride, threads) for stride in STRIDES for threads in (192, 320)]
    dispatches = read_dispatches(out)
    return {
        launch: dispatch.counters["TCP_TCC_READ_REQ_sum"] / launch[1]
        for launch, dispatch in zip(launches, dispatches, strict=True)
    }


@pytest.mark.parametrize("stride", STRIDES)
def test_what_is_smaller_than_the_cache_is_kept_at_any_stride(
    requests: dict[tuple[int, int], float], stride: int
) -> None:
    assert requests[stride, 192] == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("stride", STRIDES)
def test_what_is_larger_than_the_cache_is_read_again_in_every_pass(
    requests: dict[tuple[int, int], float], stride: int
) -> None:
    """The least recently used line is the next one that is needed."""
    assert requests[stride, 320] == pytest.approx(PASSES, rel=0.1)
