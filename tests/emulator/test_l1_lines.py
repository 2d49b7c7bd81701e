"""Known answers for the lines of the L1: what runs of words with their neighbours ask of the L2, by a line's size."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.emulator.devices import device_table
from hipscope.emulator.raw import RawDispatch, read_dispatches
from tests.emulator.hip_run import record

WIDTHS = (1, 2, 4)
GROUPS = 64
SOURCE = f"""
#include <hip/hip_runtime.h>
template <int width>
using Vector = float __attribute__((__vector_size__(width * sizeof(float))));
// A wave reads `width` words of each lane and, of `beside` 1, those before and behind them. Waves are 32 KiB apart.
template <int width>
__global__ void runs(const float* a, float* sums, int beside) {{
    const float* run = a + blockIdx.x * 8192 + 4096 + width * threadIdx.x;
    const Vector<width> words = *reinterpret_cast<const Vector<width>*>(run);
    float sum = words[width - 1] + words[0];
    if (beside != 0) sum += run[-1] + run[width];
    sums[blockIdx.x * 64 + threadIdx.x] = sum;
}}
int main() {{
    float *a, *sums;
    if (hipMalloc(&a, {GROUPS} << 15) != hipSuccess || hipMalloc(&sums, {GROUPS} << 8) != hipSuccess) return 1;
    for (int beside : {{0, 1}}) {{
        runs<1><<<{GROUPS}, 64>>>(a, sums, beside);
        runs<2><<<{GROUPS}, 64>>>(a, sums, beside);
        runs<4><<<{GROUPS}, 64>>>(a, sums, beside);
    }}
    return hipDeviceSynchronize() != hipSuccess;
}}
"""


@pytest.fixture(scope="module", params=[64, 128])
def runs(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> tuple[int, list[RawDispatch]]:
    """Bytes of a line, and the launches: alone by width, then with neighbours by width."""
    folder: Path = tmp_path_factory.mktemp("lines")
    source = folder / "runs.hip"
    source.write_text(SOURCE)
    out = record(source, folder, "mi300x", 2, l1_line_bytes=request.param)
    return request.param, list(read_dispatches(out))


@pytest.mark.parametrize("which", range(3))
def test_neighbours_of_a_run_cost_a_line_at_each_end(runs: tuple[int, list[RawDispatch]], which: int) -> None:
    """Counters of an MI250X: 1.5, 1.25 and 1.125 times the bytes of runs of 256, 512 and 1,024 bytes."""
    line, launches = runs
    size = 256 * WIDTHS[which]
    alone, beside = (launches[n].counters["TCP_TCC_READ_REQ_sum"] for n in (which, which + 3))
    assert alone == GROUPS * size / line
    assert beside == alone + 2 * GROUPS


def test_lines_that_miss_together_are_one_request_of_the_l2(runs: tuple[int, list[RawDispatch]]) -> None:
    """Counters of an MI210: half of the L1's look-ups of 32 bytes miss, the L2 sees a request for each 128 bytes."""
    for width, launch in zip(WIDTHS, runs[1], strict=False):
        of_vectors = launch.counters["TCC_READ_sum"] - launch.counters["SQC_TC_DATA_READ_REQ"]
        assert of_vectors == GROUPS * 2 * width


def test_lines_of_an_mi250x_are_half_as_long_as_those_of_an_mi300x() -> None:
    assert (device_table()["mi250x"]["l1_line_bytes"], device_table()["mi300x"]["l1_line_bytes"]) == (64, 128)
