"""Known answers for whose turn it is at a CU's vector memory port: SIMDs in turn, of each the longest waiting wave."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.emulator.raw import read_dispatches, read_profile
from tests.emulator.hip_run import record

LOADS = 8  # of each thread, all of one line of its own: those of a wave are a quarter of the L1
SOURCE = f"""
#include <hip/hip_runtime.h>
__global__ void own_lines(const float* a, float* sums) {{
    const float* line = a + threadIdx.x * 32;
    float word[{LOADS}], sum = 0;
    for (int k = 0; k < {LOADS}; ++k)
        asm volatile("global_load_dword %0, %1, off offset:%2" : "=v"(word[k]) : "v"(line), "n"(16 * k));
    asm volatile("s_waitcnt vmcnt(0)" : "+v"(word[0]), "+v"(word[1]), "+v"(word[2]), "+v"(word[3]),
                 "+v"(word[4]), "+v"(word[5]), "+v"(word[6]), "+v"(word[7]));
    for (int k = 0; k < {LOADS}; ++k) sum += word[k];
    sums[threadIdx.x] = sum;
}}
int main() {{
    float *a, *sums;
    if (hipMalloc(&a, 1024 * 128) != hipSuccess || hipMalloc(&sums, 4096) != hipSuccess) return 1;
    own_lines<<<1, 1024>>>(a, sums);
    return hipDeviceSynchronize() != hipSuccess;
}}
"""


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    work = tmp_path_factory.mktemp("turns")
    source = work / "own_lines.hip"
    source.write_text(SOURCE)
    return record(source, work, "mi300x", 1)


def test_the_wave_of_a_simd_goes_first_that_has_waited_longest(folder: Path) -> None:
    """So its waves advance together: none has its third load before another has had its first."""
    of_simd: dict[int, list[list[int]]] = {}
    for simd, times in _loads(folder):
        of_simd.setdefault(simd, []).append(times)
    assert len(of_simd) == 4
    for waves in of_simd.values():
        for n in range(LOADS - 2):
            assert max(times[n] for times in waves) < min(times[n + 2] for times in waves)


def test_simds_take_turns(folder: Path) -> None:
    """The oldest waves of the four SIMDs advance together: none is two loads ahead of another."""
    oldest = [times for _, times in _loads(folder)[:4]]
    for n in range(LOADS - 2):
        assert max(times[n] for times in oldest) < min(times[n + 2] for times in oldest)


def test_the_l1_has_lost_lines_when_their_wave_asks_for_them_again(folder: Path) -> None:
    """Sixteen waves use four times what the L1 holds, side by side: the L2 is asked for every load."""
    (dispatch,) = read_dispatches(folder)
    assert dispatch.counters["TCP_TCC_READ_REQ_sum"] > 0.9 * LOADS * 1024


def _loads(folder: Path) -> list[tuple[int, list[int]]]:
    """SIMD and times of the loads of each wave that was recorded, the oldest wave first."""
    (dispatch,) = read_dispatches(folder)
    profile = read_profile(folder, dispatch.id)
    assert profile is not None
    loads = {i.address for i in profile.instructions if i.text.startswith("global_load")}
    waves = sorted(profile.waves, key=lambda wave: wave.begin)
    return [
        (wave.simd, [time + stall for time, _, stall, _, address in wave.instructions if address in loads])
        for wave in waves
    ]
