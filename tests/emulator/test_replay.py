"""Replays inside this process: the captured run again, other inputs, launches, orders, and what they must refuse."""

from __future__ import annotations

import os
import struct
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.build import build_program
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.captures import CaptureDamaged, seal
from hipscope.emulator.replay import LaunchShape, ReplayFailed, ReplaySetup, Result, replay
from hipscope.emulator.runner import EmulatorOptions, emulator_environment

SOURCE = """
#include <hip/hip_runtime.h>
__device__ int factor = 3, runs = 3;
__global__ void scale(const int* in, int* out, int limit) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < limit) out[i] = in[i] * factor;
  if (limit < 0) for (volatile int k = 0; in[0] == in[0]; ++k) {}
  if (i == 0) atomicAdd(&runs, 1);
}
int main() {
  int host[256], *in, *out;
  for (int i = 0; i < 256; ++i) host[i] = i + 1;
  (void)hipMalloc(&in, sizeof host); (void)hipMalloc(&out, sizeof host);
  (void)hipMemcpy(in, host, sizeof host, hipMemcpyHostToDevice);
  scale<<<4, 64>>>(in, out, 200);
  return hipDeviceSynchronize();
}
"""
BEFORE = struct.pack("<256i", *range(1, 257))


@pytest.fixture(scope="module")
def capture(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("replay")
    (folder / "scale.hip").write_text(SOURCE)
    config = Config()
    toolchain = find_toolchain(config)
    built = build_program(resolve_project(folder / "scale.hip", config=config), toolchain)
    added = emulator_environment(EmulatorOptions(objdump=toolchain.objdump, capture=folder / "captures"))
    subprocess.run(built.argv, env={**os.environ, **built.env, **added}, check=True, timeout=120)
    return folder / "captures" / "dispatch_1"


def again(capture: Path, threads: int = 1, timeout_s: float | None = None, **changes: object) -> Result:
    objdump = find_toolchain(Config()).objdump
    setup = ReplaySetup(objdump, capture.parent / "cache", threads, timeout_s)
    return replay(capture, setup=setup, **changes)  # type: ignore[arg-type]


def scaled(values: list[int], count: int, factor: int = 3) -> bytes:
    return struct.pack("<256i", *(v * factor if i < count else 0 for i, v in enumerate(values)))


def test_a_replay_leaves_what_the_program_left(capture: Path) -> None:
    done = again(capture)
    assert (done.status, done.fault) == ("ok", None)
    assert done.buffers == (BEFORE, scaled(list(range(1, 257)), 200))
    assert done.buffers == tuple((capture / f"buffer_{i}.after").read_bytes() for i in range(2))
    assert done.variables["runs"] == struct.pack("<i", 4)
    assert not list(capture.parent.parent.glob("hipscope-replay-*"))


def test_inputs_launch_order_and_poison_can_differ(capture: Path) -> None:
    other = list(range(1000, 1256))
    assert again(capture, inputs={0: struct.pack("<256i", *other)}).buffers[1] == scaled(other, 200)
    small = again(capture, launch=LaunchShape((64, 1, 1), (32, 1, 1)))
    assert small.buffers[1] == scaled(list(range(1, 257)), 64)
    expected = again(capture).buffers
    assert all(again(capture, schedule=k, poison=k, threads=2).buffers == expected for k in range(1, 6))


def test_launches_whose_sizes_do_not_fit_into_32_bits_are_not_cut_off(capture: Path) -> None:
    most = 2**32 - 1
    long = again(capture, launch=LaunchShape((most, 1, 1), (64, 1, 1)), timeout_s=0.3)
    assert long.status == "timeout"  # and not over at once, with no workgroup
    vast = again(capture, launch=LaunchShape((most, most, most), (1, 1, 1)), timeout_s=0.3)
    assert vast.message == "the launch has more workgroups than can be counted"
    wide = again(capture, launch=LaunchShape((64, 1, 1), (1 << 31, 1 << 31, 4)))
    assert "work-items, the kernel allows" in wide.message


def test_replays_from_several_threads_do_not_disturb_each_other(capture: Path) -> None:
    def one(k: int) -> bytes:
        return again(capture, inputs={0: struct.pack("<256i", *range(k, k + 256))}).buffers[1]

    with ThreadPoolExecutor(4) as pool:
        found = list(pool.map(one, range(20)))
    assert found == [scaled(list(range(k, k + 256)), 200) for k in range(20)]


def test_a_kernel_that_never_ends_is_stopped(capture: Path, tmp_path: Path) -> None:
    copy = tmp_path / "dispatch_1"
    copy.mkdir()
    for path in capture.iterdir():
        (copy / path.name).write_bytes(path.read_bytes())
    kernarg = bytearray((copy / "kernarg.bin").read_bytes())
    kernarg[16:20] = struct.pack("<i", -1)
    (copy / "kernarg.bin").write_bytes(kernarg)
    assert "kernarg.bin" in again(copy).message  # a changed file is refused
    seal(copy)
    done = again(copy, timeout_s=0.3)
    assert (done.status, done.message) == ("timeout", "it did not end within 0.3 s")
    assert again(capture).status == "ok"


def test_what_cannot_be_replayed_is_told(capture: Path, tmp_path: Path) -> None:
    with pytest.raises(CaptureDamaged, match="not a captured dispatch"):
        again(tmp_path)
    with pytest.raises(ReplayFailed, match="does not fit"):
        again(capture, inputs={0: b"short"})
    nonsense = tmp_path / "nonsense.co"
    nonsense.write_bytes(b"nonsense")
    done = replay(capture, nonsense)
    assert (done.status, done.message) == (
        "launch_error",
        "this is neither an offload bundle nor an ELF file",
    )
