"""Programs that run on the emulator with everything recorded: what the tests of the runtime share."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.build import build_program
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.analysis.toolchain.project import resolve_project
from hipscope.emulator.devices import write_device_config
from hipscope.emulator.raw import RawInstruction, read_dispatches, read_faults, read_profile
from hipscope.emulator.runner import EmulatorOptions, emulator_environment

HEADER = """
#include <hip/hip_runtime.h>
#include <cstdio>
#include <cstdlib>
#include <vector>
#define CHECK(call) do { hipError_t e = (call); if (e != hipSuccess) { \\
    std::printf("%s\\n", hipGetErrorName(e)); std::exit(1); } } while (0)
"""

VECTOR_ADD = (
    HEADER
    + """
__global__ void add(const float* a, const float* b, float* c, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) c[i] = a[i] + b[i];
}
int main() {
  const int n = 100000;
  std::vector<float> h(n), r(n);
  for (int i = 0; i < n; ++i) h[i] = i;
  float *a, *b, *c;
  CHECK(hipMalloc(&a, n * 4)); CHECK(hipMalloc(&b, n * 4)); CHECK(hipMalloc(&c, n * 4));
  CHECK(hipMemcpy(a, h.data(), n * 4, hipMemcpyHostToDevice));
  CHECK(hipMemcpy(b, h.data(), n * 4, hipMemcpyHostToDevice));
  for (int k = 0; k < 3; ++k) add<<<(n + 255) / 256, 256>>>(a, b, c, n);
  CHECK(hipDeviceSynchronize());
  CHECK(hipMemcpy(r.data(), c, n * 4, hipMemcpyDeviceToHost));
  for (int i = 0; i < n; ++i) if (r[i] != 2.0f * i) { std::puts("FAIL"); return 1; }
  std::puts("PASS");
}
"""
)


@dataclass(frozen=True)
class Ran:
    """One run: what the program printed, and where its output lies."""

    out: Path
    capture: Path
    stdout: str
    stderr: str
    returncode: int

    def faults(self) -> tuple[Any, ...]:
        return read_faults(self.out)

    def dispatches(self) -> list[Any]:
        return list(read_dispatches(self.out))

    def instructions(self, dispatch: int = 1) -> tuple[RawInstruction, ...]:
        profile = read_profile(self.out, dispatch)
        assert profile is not None
        return profile.instructions

    def times(self) -> list[float]:
        return [d.end_ns - d.start_ns for d in self.dispatches() if d.profiled]


Run = Callable[..., Ran]


def runs_in(tmp_path: Path) -> Run:
    """What builds a program from its text and runs it: `run(text, threads=2, HIPSCOPE_X="1")`."""
    count = 0

    def built_and_run(
        text: str, *, device: str = "mi300a", threads: int = 2, capture: bool = False, **env: str
    ) -> Ran:
        nonlocal count
        count += 1
        folder = tmp_path / f"run{count}"
        folder.mkdir()
        source = tmp_path / "program.hip"
        source.write_text(text)
        config = Config()
        toolchain = find_toolchain(config)
        built = build_program(resolve_project(source, config=config), toolchain)
        options = EmulatorOptions(
            out=folder / "out",
            objdump=toolchain.objdump,
            device_config=write_device_config(device, folder / "device.txt"),
            cache=tmp_path / "cache",
            threads=threads,
            capture=folder / "capture" if capture else None,
            libraries=toolchain.emulated_libraries,
        )
        done = subprocess.run(
            built.argv,
            env={**os.environ, **built.env, **emulator_environment(options), **env},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return Ran(folder / "out", folder / "capture", done.stdout, done.stderr, done.returncode)

    return built_and_run
