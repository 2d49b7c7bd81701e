"""Known answers for the L1 of a CU: which lines of a workgroup it keeps from one pass over them to the next."""

from __future__ import annotations

import pytest

from hipscope.emulator.raw import read_dispatches
from tests.emulator.hip_run import record

PASSES = 32  # each reads another word of the same lines
ALL_SETS = (1, 3, 5, 7)
TWO_SETS = (2, 6, 10)
ONE_SET = (4, 12, 32, 48)
LAUNCHES = [(stride, threads) for stride in ALL_SETS for threads in (192, 320)]
LAUNCHES += [(stride, threads) for stride in TWO_SETS for threads in (128, 192)]
LAUNCHES += [(stride, threads) for stride in ONE_SET for threads in (64, 128)]
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
    const int launches[][2] = {{{", ".join(f"{{{s}, {t}}}" for s, t in LAUNCHES)}}};
    for (auto [stride, threads] : launches) rows<<<1, threads>>>(a, sums, stride);
    return hipDeviceSynchronize() != hipSuccess;
}}
"""


@pytest.fixture(scope="module")
def requests(tmp_path_factory: pytest.TempPathFactory) -> dict[tuple[int, int], float]:
    """Stride in lines and number of threads -> lines that the L1 asked the L2 for, per line that was used."""
    folder = tmp_path_factory.mktemp("l1")
    source = folder / "rows.hip"
    source.write_text(SOURCE)
    out = record(source, folder, "mi300x", len(LAUNCHES))
    dispatches = read_dispatches(out)
    return {
        launch: dispatch.counters["TCP_TCC_READ_REQ_sum"] / launch[1]
        for launch, dispatch in zip(LAUNCHES, dispatches, strict=True)
    }


@pytest.mark.parametrize("stride", ALL_SETS)
def test_what_is_smaller_than_the_cache_is_kept_where_its_lines_spread_over_the_sets(
    requests: dict[tuple[int, int], float], stride: int
) -> None:
    assert requests[stride, 192] == pytest.approx(1, abs=0.1)


@pytest.mark.parametrize("stride", ALL_SETS)
def test_what_is_larger_than_the_cache_is_read_again_in_every_pass(
    requests: dict[tuple[int, int], float], stride: int
) -> None:
    """The least recently used line of a set is the next one that is needed."""
    assert requests[stride, 320] == pytest.approx(PASSES, rel=0.1)


@pytest.mark.parametrize("stride", TWO_SETS)
def test_rows_of_an_odd_multiple_of_256_bytes_have_two_sets(
    requests: dict[tuple[int, int], float], stride: int
) -> None:
    assert requests[stride, 128] == pytest.approx(1, abs=0.1)
    assert requests[stride, 192] == pytest.approx(PASSES, rel=0.1)


@pytest.mark.parametrize("stride", ONE_SET)
def test_rows_of_a_multiple_of_512_bytes_have_the_64_lines_of_one_set_only(
    requests: dict[tuple[int, int], float], stride: int
) -> None:
    assert requests[stride, 64] == pytest.approx(1, abs=0.1)
    assert requests[stride, 128] == pytest.approx(PASSES, rel=0.1)
