"""hipFFT without ROCm: transforms of all types and layouts against numpy, and in place."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from hipscope.analysis.build_files.rocm_folder import installed
from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.emulator.runner import native_library_dir, stand_in_libraries
from tests.emulator.recorded_run import HEADER, Run

pytestmark = pytest.mark.skipif(
    find_toolchain(Config()).rocm_path is not None or installed("hipfft"), reason="a real hipFFT is here"
)
CALLS = Path(__file__).with_name("stand_in_fft.py")
IN_PLACE = (
    HEADER
    + """
#include <hipfft/hipfft.h>
#include <cmath>
__global__ void rows(float* x, int pitch) {
  if (threadIdx.x < 6) x[blockIdx.x * pitch + threadIdx.x] = threadIdx.x * 7 % 5 + blockIdx.x;
}
int main() {
  const int n = 6, m = 4, pitch = 2 * (n / 2 + 1);  // rows have room for the complex numbers
  float* x;
  CHECK(hipMalloc(&x, m * pitch * sizeof(float)));
  rows<<<m, 64>>>(x, pitch);
  hipfftHandle there, back;
  if (hipfftPlan2d(&there, m, n, HIPFFT_R2C) || hipfftPlan2d(&back, m, n, HIPFFT_C2R)) return 2;
  if (hipfftExecR2C(there, x, (hipfftComplex*)x) || hipfftExecC2R(back, (hipfftComplex*)x, x)) return 3;
  std::vector<float> h(m * pitch);
  CHECK(hipMemcpy(h.data(), x, h.size() * sizeof(float), hipMemcpyDeviceToHost));
  for (int i = 0; i < m; ++i)
    for (int k = 0; k < n; ++k)
      if (std::fabs(h[i * pitch + k] - m * n * (k * 7 % 5 + i)) > 1e-3) return 4;
  return hipfftDestroy(there) + hipfftDestroy(back);
}
"""
)


def test_transforms_are_those_of_numpy() -> None:
    libraries = (str(native_library_dir() / "libamdhip64.so"), str(stand_in_libraries() / "libhipfft.so"))
    argv = [sys.executable, str(CALLS), *libraries, "11", "200"]
    done = subprocess.run(argv, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_a_transform_of_real_numbers_in_place_has_room_in_its_rows(run: Run) -> None:
    ran = run(IN_PLACE)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    counts = json.loads((ran.out / "library_calls.json").read_text())
    assert counts == {"hipfftExecC2R": 1, "hipfftExecR2C": 1}
