"""Known answers for the memory path: a queue takes size over rate, however long it is; what the MALL holds, none."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.build import build_program
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.devices import write_device_config
from hipscope.emulator.raw import RawDispatch, read_dispatches
from hipscope.emulator.runner import EmulatorOptions, emulator_environment

BYTES = 4 << 20
SOURCE = f"""
#include <hip/hip_runtime.h>
__global__ void read_once(const float* a, float* sum) {{
    const float value = a[blockIdx.x * 256 + threadIdx.x];
    if (value != 0) *sum = value;
}}
int main() {{
    float *a, *sum;
    if (hipMalloc(&a, {BYTES}) != hipSuccess || hipMalloc(&sum, 4) != hipSuccess) return 1;
    for (int launch = 0; launch < 2; ++launch) read_once<<<{BYTES // 1024}, 256>>>(a, sum);
    return hipDeviceSynchronize() != hipSuccess;
}}
"""


def launch_seconds(folder: Path, **changes: float) -> list[float]:
    """Modelled times of two launches that read BYTES each, on an MI300A with some of its rows changed."""
    seconds = []
    for dispatch in launches(folder, **changes):
        assert dispatch.start_ns is not None
        assert dispatch.end_ns is not None
        seconds.append((dispatch.end_ns - dispatch.start_ns) * 1e-9)
    return seconds


def launches(folder: Path, **changes: float) -> list[RawDispatch]:
    """The records of those launches."""
    source = folder / "read_once.hip"
    source.write_text(SOURCE)
    toolchain = find_toolchain(Config())
    built = build_program(resolve_project(source), toolchain)
    device = write_device_config("mi300a", folder / "device.txt")
    rows = dict(line.split(maxsplit=1) for line in device.read_text().splitlines())
    rows |= {key: str(value) for key, value in changes.items()}
    device.write_text("".join(f"{key} {value}\n" for key, value in rows.items()))
    environment = emulator_environment(
        EmulatorOptions(out=folder / "out", objdump=toolchain.objdump, device_config=device)
    )
    subprocess.run(built.argv, env={**os.environ, **built.env, **environment}, check=True, timeout=300)
    return list(read_dispatches(folder / "out"))


@pytest.mark.parametrize(
    ("resource", "rate", "bytes_per_s"),
    [
        ("hbm_read_bytes_per_s", 1e9, 1e9),
        ("mall_bytes_per_s", 1e9, 1e9),
        # Over the channels of all XCDs, at the clock.
        ("l2_read_bytes_per_cycle", 0.01, 0.01 * 16 * 6 * 2.1e9),
    ],
)
def test_a_long_queue_loses_no_work(tmp_path: Path, resource: str, rate: float, bytes_per_s: float) -> None:
    """Thousands of requests wait at once when a resource of the device is slow; none of them is served for nothing."""
    seconds = launch_seconds(tmp_path, **{resource: rate})[0]
    assert BYTES / bytes_per_s <= seconds < 1.3 * BYTES / bytes_per_s


@pytest.mark.parametrize(
    ("resource", "rate", "unit"),
    [
        ("hbm_read_bytes_per_s", 1e9, "hbm"),
        ("mall_bytes_per_s", 1e9, "mall"),
        ("l2_read_bytes_per_cycle", 0.01, "l2"),
        ("launch_floor_ns", 1e9, "launch"),
    ],
)
def test_what_makes_a_launch_slow_is_busy_for_all_of_it(
    tmp_path: Path, resource: str, rate: float, unit: str
) -> None:
    """The other units are not: all that they do would take a small part of that time."""
    busy = launches(tmp_path, **{resource: rate})[0].busy
    assert 0.75 < busy[unit] <= 1.01
    within = (
        {unit, "round_trip"} if unit == "launch" else {unit}
    )  # no round trip is shorter than an empty launch
    assert sum(part for other, part in busy.items() if other not in within) < 0.1


@pytest.mark.parametrize(("capacity", "missing"), [(2.0, 0.01), (1.0, 0.54), (0.5, 1.0)])
def test_a_second_pass_misses_what_the_sets_of_the_mall_could_not_keep(
    tmp_path: Path, capacity: float, missing: float
) -> None:
    """Of data as large as the MALL the lines survive whose 16-way set got at most 15 others: Poisson's 47 %."""
    changes = {"mall_bytes": capacity * BYTES, "hbm_read_bytes_per_s": 1e9, "l2_kept_lines": 0}
    seconds = launch_seconds(tmp_path, **changes)[1]
    assert seconds == pytest.approx(missing * BYTES / 1e9, rel=0.1, abs=0.02 * BYTES / 1e9)
