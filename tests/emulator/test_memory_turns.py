"""Known answers for whose turn it is at a CU's vector memory port: SIMDs in turn, of a SIMD's waves the oldest."""

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


def test_a_wave_has_issued_its_loads_before_a_younger_one_of_its_simd_goes_on(folder: Path) -> None:
    ends: dict[int, int] = {}
    for simd, times in _loads(folder):
        assert times[1] > ends.get(simd, 0)  # the first one was issued while the port had room
        ends[simd] = times[-1]
    assert len(ends) == 4


def test_simds_take_turns(folder: Path) -> None:
    """The oldest waves of the four SIMDs advance together: none is two loads ahead of another."""
    oldest = [times for _, times in _loads(folder)[:4]]
    for n in range(LOADS - 2):
        assert max(times[n] for times in oldest) < min(times[n + 2] for times in oldest)


def test_lines_are_in_the_l1_still_when_their_wave_asks_for_them_again(folder: Path) -> None:
    """Sixteen waves use four times what the L1 holds; the four that have their turns fill it."""
    (dispatch,) = read_dispatches(folder)
    assert dispatch.counters["TCP_TCC_READ_REQ_sum"] == pytest.approx(1024, rel=0.25)


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
