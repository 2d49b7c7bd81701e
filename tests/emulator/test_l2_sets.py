"""Known answers for the L2: what it keeps of an array from one pass to the next, and where what it lost comes from."""

from __future__ import annotations

import math
import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks.modelled import duration
from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.build import build_program
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.devices import device_table, write_device_config
from hipscope.emulator.raw import RawDispatch, read_dispatches
from hipscope.emulator.runner import EmulatorOptions, emulator_environment

L2_LINES = device_table()["mi300x"]["l2_bytes"] // 128
WAYS = 16
SOURCE = """
#include <cstddef>
#include <hip/hip_runtime.h>
// One workgroup reads a word of each line, so many times over.
__global__ void passes(const float* a, float* sums, int lines, int times) {
    float sum = 0;
    for (int pass = 0; pass < times; ++pass) {
        for (int line = threadIdx.x; line < lines; line += 1024) sum += a[line * 32];
        __syncthreads();  // else older waves would come to the lines again before younger ones read theirs
    }
    sums[threadIdx.x] = sum;
}
int main() {
    float *a, *sums;
    const std::size_t way = 1 << 18;  // a large block begins with a page of the device's, which is a multiple of a way
    if (hipMalloc(&a, LINES * 128 + way) != hipSuccess || hipMalloc(&sums, 4096) != hipSuccess) return 1;
    a = reinterpret_cast<float*>((reinterpret_cast<std::size_t>(a) + way - 1) / way * way);
    for (int times : {1, 2}) passes<<<1, 1024>>>(a, sums, LINES, times);
    return hipDeviceSynchronize() != hipSuccess;
}
"""


def once_and_twice(folder: Path, lines: int, **changes: float) -> tuple[RawDispatch, RawDispatch]:
    """One pass over so many lines, and a launch of two, on an MI300X with some of its rows changed.

    Unless they say otherwise each launch begins with an empty L2.
    """
    once, twice = launches(SOURCE.replace("LINES", str(lines)), folder, {"l2_kept_lines": 0, **changes})
    return once, twice


def launches(
    text: str, folder: Path, changes: Mapping[str, float], name: str = "mi300x"
) -> list[RawDispatch]:
    """The launches of a program on a device with some of its rows changed."""
    source = folder / "passes.hip"
    source.write_text(text)
    toolchain = find_toolchain(Config())
    built = build_program(resolve_project(source), toolchain)
    device = write_device_config(name, folder / "device.txt")
    rows = dict(line.split(maxsplit=1) for line in device.read_text().splitlines())
    rows |= {key: str(value) for key, value in changes.items()}
    device.write_text("".join(f"{key} {value}\n" for key, value in rows.items()))
    options = EmulatorOptions(
        out=folder / "out", objdump=toolchain.objdump, device_config=device, profile_launches=3
    )
    environment = {**os.environ, **built.env, **emulator_environment(options)}
    subprocess.run(built.argv, env=environment, check=True, timeout=300)
    return list(read_dispatches(folder / "out"))


def missed_again(folder: Path, lines: int, **changes: float) -> float:
    """The share of the lines that a second pass has to fetch again."""
    fetched = [d.counters["TCC_EA0_RDREQ_sum"] for d in once_and_twice(folder, lines, **changes)]
    return (fetched[1] - fetched[0]) / lines


@pytest.mark.parametrize(("part", "missed"), [(7 / 8, 0), (1, 0), (1.1, 1)])
def test_an_array_is_kept_as_a_whole_where_lines_spread_evenly(
    tmp_path: Path, part: float, missed: float
) -> None:
    assert missed_again(tmp_path, round(part * L2_LINES)) == pytest.approx(missed, abs=0.03)


@pytest.mark.parametrize("part", [0.5, 7 / 8, 1, 1.25])
@pytest.mark.parametrize("piece", [128, 4096])
def test_where_sets_are_chosen_by_chance_those_with_too_many_lines_lose_them(
    tmp_path: Path, part: float, piece: int
) -> None:
    """A line that comes again is lost when 16 others or more share its set: Poisson's law."""
    others = part * WAYS
    kept = sum(math.exp(-others) * others**n / math.factorial(n) for n in range(WAYS))
    # Of 256 places for pages of 4 KiB chance makes more or less of them.
    found = missed_again(tmp_path, round(part * L2_LINES), l2_scattered_bytes=piece)
    assert found == pytest.approx(1 - kept, abs=0.03 if piece == 128 else 0.12)


@pytest.mark.parametrize(("mall_bytes", "passes"), [(1, 2), (256 << 20, 0)])
def test_without_a_mall_what_the_l2_lost_comes_from_memory_again(
    tmp_path: Path, mall_bytes: int, passes: int
) -> None:
    """A MALL has all of it from the launch before."""
    rate, lines = 1e9, 2 * L2_LINES
    twice = once_and_twice(tmp_path, lines, mall_bytes=mall_bytes, hbm_read_bytes_per_s=rate)[1]
    assert twice.end_ns is not None
    assert twice.start_ns is not None
    seconds = (twice.end_ns - twice.start_ns) * 1e-9
    assert seconds == pytest.approx(passes * lines * 128 / rate, rel=0.1, abs=0.001)


def test_a_launch_finds_what_the_one_before_it_left_only_when_lines_are_kept(tmp_path: Path) -> None:
    lines = L2_LINES // 2
    folders = [tmp_path / name for name in ("gone", "kept")]
    for folder in folders:
        folder.mkdir()
    gone, kept = (once_and_twice(f, lines, l2_kept_lines=n)[1] for n, f in enumerate(folders))
    assert gone.counters["TCC_EA0_RDREQ_sum"] == pytest.approx(lines, rel=0.03)
    assert kept.counters["TCC_EA0_RDREQ_sum"] < 0.03 * lines
    assert duration(kept) < duration(gone)


WRITTEN_BETWEEN = """
#include <hip/hip_runtime.h>
#include <vector>
__global__ void read(const float* a, float* sums) {
    float sum = 0;
    for (int line = threadIdx.x; line < LINES; line += 1024) sum += a[line * 32];
    sums[threadIdx.x] = sum;
}
// Workgroup `writer` writes a word of each line; the first one is of the XCD that is timed.
__global__ void write(float* a, unsigned writer) {
    if (blockIdx.x != writer) return;
    for (int line = threadIdx.x; line < LINES; line += 1024) a[line * 32] = 1;
}
int main() {
    float *a, *sums;
    char* more_than_an_l2;
    const std::size_t way = 1 << 18;  // a large block begins with a page of the device's, which is a multiple of a way
    if (hipMalloc(&a, LINES * 128 + way) != hipSuccess || hipMalloc(&sums, 4096) != hipSuccess) return 1;
    a = reinterpret_cast<float*>((reinterpret_cast<std::size_t>(a) + way - 1) / way * way);
    if (hipMalloc(&more_than_an_l2, 8 << 20) != hipSuccess) return 1;
    std::vector<char> back(LINES * 128);
    read<<<1, 1024>>>(a, sums);
    BETWEEN;
    read<<<1, 1024>>>(a, sums);
    return hipDeviceSynchronize() != hipSuccess;
}
"""


@pytest.mark.parametrize(
    ("between", "kept"),
    [
        ("write<<<8, 1024>>>(a, 0)", True),
        ("write<<<8, 1024>>>(a, 1)", False),
        ("(void)hipMemset(a, 0, LINES * 128)", False),
        ("(void)hipMemset(more_than_an_l2, 0, 8 << 20)", True),
        ("(void)hipMemset(more_than_an_l2, 0, 8 << 20); (void)hipMemset(a, 0, LINES * 128)", False),
        ("(void)hipMemcpy(a, back.data(), LINES * 128, hipMemcpyHostToDevice)", False),
        ("(void)hipMemcpy(back.data(), a, LINES * 128, hipMemcpyDeviceToHost)", True),
    ],
)
def test_what_another_xcd_or_a_copy_has_written_since_is_gone(
    tmp_path: Path, between: str, kept: bool
) -> None:
    lines = L2_LINES // 2
    text = WRITTEN_BETWEEN.replace("BETWEEN", between).replace("LINES", str(lines))
    last = launches(text, tmp_path, {"l2_kept_lines": 1})[-1]
    fetched = last.counters["TCC_EA0_RDREQ_sum"]
    assert fetched == pytest.approx(0 if kept else lines, abs=0.03 * lines)


ROWS = """
#include <hip/hip_runtime.h>
// Each workgroup adds up its own columns of every row, over and over; the next ones are other XCDs'.
__global__ void columns(const float* rows, float* sums, int width, int height, int times) {
    const int column = blockIdx.x * blockDim.x + threadIdx.x;
    float sum = 0;
    for (int pass = 0; pass < times; ++pass)
        for (int row = 0; row < height; ++row) sum += rows[row * width + column] * pass;
    sums[column] = sum;
}
int main() {
    float *rows, *sums;
    const int width = 1 << 15, height = HEIGHT;
    if (hipMalloc(&rows, 4 * width * height) != hipSuccess || hipMalloc(&sums, 4 * width) != hipSuccess) return 1;
    for (int times : {1, 2}) columns<<<width / THREADS, THREADS>>>(rows, sums, width, height, times);
    return hipDeviceSynchronize() != hipSuccess;
}
"""


@pytest.mark.parametrize(("channel_bytes", "part", "missed"), [(256, 0.2, 0), (256, 0.4, 1), (0, 0.4, 0)])
def test_an_xcd_whose_rows_lie_in_some_channels_has_only_those(
    tmp_path: Path, channel_bytes: int, part: float, missed: float
) -> None:
    """1 KiB of each 8 lies in four of sixteen channels, a quarter of the L2: there is no room for 0.4 of it."""
    height = round(part * L2_LINES * 128 * 8 / (4 << 15))
    text = ROWS.replace("HEIGHT", str(height)).replace("THREADS", "256")
    changes = {"l2_kept_lines": 0, "l2_channel_bytes": channel_bytes}
    once, twice = (d.counters["TCC_EA0_RDREQ_sum"] for d in launches(text, tmp_path, changes))
    assert twice / once - 1 == pytest.approx(missed, abs=0.05)


COPY = """
#include <hip/hip_runtime.h>
__global__ void copy(const double* from, double* to) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    to[i] = from[i];
}
int main() {
    double *from, *to;
    const int n = 1 << 20;
    if (hipMalloc(&from, 8 * n) != hipSuccess || hipMalloc(&to, 8 * n) != hipSuccess) return 1;
    copy<<<n / 256, 256>>>(from, to);
    return hipDeviceSynchronize() != hipSuccess;
}
"""


@pytest.mark.parametrize(("device", "least", "most"), [("mi300x", 0, 4), ("mi300a", 4096, 20000)])
def test_written_lines_leave_early_where_counters_of_a_copy_say_so(
    tmp_path: Path, device: str, least: int, most: int
) -> None:
    """AMD's runs of a copy of 8.4 MB: all 65,536 lines are left at the end on an MI300X, 49 k on an MI300A.

    An XCD has 2 MiB of the copy there, which half of its channels hold, and 2.7 MiB here.
    """
    (found,) = launches(COPY, tmp_path, {"l2_kept_lines": 0}, device)
    assert least <= found.counters["TCC_NORMAL_WRITEBACK_sum"] <= most


def test_every_second_line_has_all_sets_of_its_channels(tmp_path: Path) -> None:
    """128 B of each 768 on an MI300A, 0.53 of its L2: they lie in all of the channels, in every second line there."""
    text = ROWS.replace("HEIGHT", "102").replace("THREADS", "32")
    once, twice = launches(text, tmp_path, {"l2_kept_lines": 0}, "mi300a")
    assert twice.counters["TCC_EA0_RDREQ_sum"] == pytest.approx(once.counters["TCC_EA0_RDREQ_sum"], rel=0.05)
