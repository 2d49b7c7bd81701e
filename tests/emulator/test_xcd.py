"""Workgroups go to the XCDs in turn, and HW_REG_XCC_ID says so alike however a program is run."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.emulator.devices import write_device_config
from hipscope.emulator.runner import replay_executable
from tests.emulator.hip_run import build_hip

PLACES = """
__global__ void place(unsigned* out) {
  if (threadIdx.x == 0) out[blockIdx.y * gridDim.x + blockIdx.x] = __builtin_amdgcn_s_getreg(20 | 3 << 11);
}
int main() {
  unsigned *out, places[40];
  CHECK(hipMalloc(&out, sizeof places));
  place<<<dim3(8, 5), 128>>>(out);
  CHECK(hipMemcpy(places, out, sizeof places, hipMemcpyDeviceToHost));
  for (unsigned place : places) std::printf("%u ", place);
}
"""
RUNS = {
    "plain": {"HIPSCOPE_PROFILE_LAUNCHES": "0"},
    "one thread": {"HIPSCOPE_THREADS": "1"},
    "timed": {"HIPSCOPE_PROFILE_LAUNCHES": "9"},
    "shuffled": {"HIPSCOPE_SEED": "5"},
    "checked": {"HIPSCOPE_SANITIZE": "all"},
}


def places(xcds: int) -> list[int]:
    return [group % xcds for group in range(40)]


@pytest.mark.parametrize("how", RUNS)
def test_a_wave_knows_its_xcd_in_every_run(how: str, tmp_path: Path) -> None:
    command = build_hip(PLACES, tmp_path, profile=True)
    done = subprocess.run(
        command.argv,
        env={**command.env, **RUNS[how]},
        capture_output=True,
        text=True,
        timeout=120,
        check=True,
    )
    assert [int(place) for place in done.stdout.split()] == places(6), "an MI300A has six"


@pytest.mark.parametrize(("device", "xcds"), [("mi300x", 8), ("mi300a", 6)])
def test_a_replay_gives_the_xcds_of_its_device(device: str, xcds: int, tmp_path: Path) -> None:
    command = build_hip(PLACES, tmp_path, HIPSCOPE_CAPTURE=str(tmp_path / "captures"))
    subprocess.run(command.argv, env=command.env, capture_output=True, timeout=120, check=True)
    argv = [
        *(
            str(replay_executable()),
            "--dispatch",
            str(tmp_path / "captures" / "dispatch_1"),
            "--out",
            str(tmp_path),
        ),
        *("--device-config", str(write_device_config(device, tmp_path / "device.txt"))),
        *("--objdump", str(find_toolchain(Config()).objdump)),
    ]
    subprocess.run(argv, timeout=120, check=True)
    written = next(tmp_path.glob("buffer_*.after")).read_bytes()
    assert [int.from_bytes(written[at : at + 4], "little") for at in range(0, 160, 4)] == places(xcds)


STALE = """
__global__ void wait_for_the_first(int* data, int* flag, int* out, unsigned reader) {
  if (threadIdx.x != 0) return;
  if (blockIdx.x == 0) {
    *data = 42;
    __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
  } else if (blockIdx.x == reader) {
    while (__hip_atomic_load(flag, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) < 1) __builtin_amdgcn_s_sleep(1);
    *out = *data;
  }
}
int main() {
  int* words;
  CHECK(hipMalloc(&words, 768));
  CHECK(hipMemset(words, 0, 768));
  wait_for_the_first<<<13, 64>>>(words, words + 64, words + 128, std::atoi(std::getenv("READER")));
  CHECK(hipDeviceSynchronize());
}
"""


@pytest.mark.parametrize(("reader", "where"), [("6", "another CU"), ("8", "another XCD")])
def test_a_stale_read_is_said_to_cross_the_xcds_of_the_device(
    reader: str, where: str, tmp_path: Path
) -> None:
    command = build_hip(STALE, tmp_path, profile=True, HIPSCOPE_SANITIZE="all", READER=reader)
    subprocess.run(command.argv, env=command.env, capture_output=True, timeout=120, check=True)
    reports = (tmp_path / "out" / "sanitize.json").read_text()
    assert f"the workgroup that stored it runs on {where}" in reports, "an MI300A has six"
