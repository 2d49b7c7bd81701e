"""The libraries that stand in for ROCm's: their results, their place among launches, the count of their calls."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from hipscope.accordo.dispatch.captured import read_dispatch
from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.emulator.runner import native_library_dir, stand_in_libraries
from tests.emulator.recorded_run import HEADER, Run

pytestmark = pytest.mark.skipif(
    find_toolchain(Config()).rocm_path is not None, reason="ROCm's own libraries are here"
)
CALLS = Path(__file__).with_name("stand_in_blas.py")

# y = 2 * x by a kernel, y = y + 3 * x by the library, y = 2 * y by the kernel.
BETWEEN = """
#include <hipblas/hipblas.h>
#include <rocblas/rocblas.h>
#include <roctracer/roctx.h>
__global__ void twice(float* to, const float* from) { to[threadIdx.x] = 2 * from[threadIdx.x]; }
int main() {
  float *x, *y;
  CHECK(hipMalloc(&x, 256)); CHECK(hipMalloc(&y, 256));
  std::vector<float> h(64);
  for (int i = 0; i < 64; ++i) h[i] = i;
  CHECK(hipMemcpy(x, h.data(), 256, hipMemcpyHostToDevice));
  hipStream_t stream;
  CHECK(hipStreamCreate(&stream));
  hipblasHandle_t handle;
  if (hipblasCreate(&handle) || hipblasSetStream(handle, stream)) return 2;
  roctxRangePush("all");
  BODY
  roctxRangePop();
  CHECK(hipStreamSynchronize(stream));
  CHECK(hipMemcpy(h.data(), y, 256, hipMemcpyDeviceToHost));
  for (int i = 0; i < 64; ++i) if (h[i] != WANTED * i) { std::printf("%d: %g\\n", i, h[i]); return 3; }
  return hipblasDestroy(handle);
}
"""
CALL = """
  const float three = 3;
  twice<<<1, 64, 0, stream>>>(y, x);
  if (hipblasSaxpy(handle, 64, &three, x, 1, y, 1)) return 4;
  twice<<<1, 64, 0, stream>>>(y, y);
"""


def program(body: str, wanted: int) -> str:
    return HEADER + BETWEEN.replace("BODY", body).replace("WANTED", str(wanted))


@pytest.mark.parametrize("library", ["hipblas", "rocblas"])
def test_blas_gives_the_results_of_numpy(library: str) -> None:
    argv = [
        sys.executable, str(CALLS), library, str(native_library_dir() / "libamdhip64.so"),
        str(stand_in_libraries() / f"lib{library}.so"), "7", "300",
    ]  # fmt: skip
    done = subprocess.run(argv, capture_output=True, text=True, timeout=100, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done.stdout
    assert len(done.stdout.splitlines()) > 100


def test_a_call_has_its_place_between_launches_and_captures_have_what_it_left(run: Run) -> None:
    ran = run(program(CALL, 10), capture=True)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    before = read_dispatch(ran.capture / "dispatch_2").buffers[1].before()
    assert np.frombuffer(before, dtype=np.float32).tolist() == [5.0 * i for i in range(64)]
    assert json.loads((ran.out / "library_calls.json").read_text()) == {"hipblasSaxpy": 1}


def test_a_call_that_is_captured_runs_with_each_launch_of_its_graph(run: Run) -> None:
    body = f"""
  hipGraph_t graph; hipGraphExec_t again;
  CHECK(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal));
  {CALL}
  CHECK(hipStreamEndCapture(stream, &graph));
  CHECK(hipGraphInstantiate(&again, graph, nullptr, nullptr, 0));
  for (int i = 0; i < 3; ++i) CHECK(hipGraphLaunch(again, stream));
"""
    ran = run(program(body, 10))
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert json.loads((ran.out / "library_calls.json").read_text()) == {"hipblasSaxpy": 3}


def test_a_scalar_of_the_device_is_read_when_the_call_has_its_turn(run: Run) -> None:
    body = """
  float* factor;
  CHECK(hipMalloc(&factor, 256));
  hipblasSetPointerMode(handle, HIPBLAS_POINTER_MODE_DEVICE);
  CHECK(hipMemsetAsync(y, 0, 256, stream));
  twice<<<1, 64, 0, stream>>>(factor, x);  // the second element is 2
  if (hipblasSaxpy(handle, 64, factor + 1, x, 1, y, 1)) return 4;
"""
    ran = run(program(body, 2))
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("65, &three, x, 1, y, 1", "hipblasSaxpy: x: 260 bytes from 0x"),
        ("64, &three, h.data(), 1, y, 1", "are no memory of the device"),
    ],
)
def test_memory_that_no_kernel_could_use_is_refused_by_name(run: Run, arguments: str, said: str) -> None:
    body = f"""
  const float three = 3;
  return hipblasSaxpy(handle, {arguments}) == HIPBLAS_STATUS_EXECUTION_FAILED ? 0 : 4;
"""
    ran = run(program(body, 0))
    assert ran.returncode == 0
    assert said in ran.stderr


def test_what_a_call_writes_counts_as_written_for_the_sanitizers(run: Run) -> None:
    """The launch after the call reads what only the call has written."""
    body = """
  const float one = 1;
  float* z;
  CHECK(hipMalloc(&z, 256));
  if (hipblasScopy(handle, 64, x, 1, z, 1) || hipblasSscal(handle, 64, &one, z, 1)) return 4;
  twice<<<1, 64, 0, stream>>>(y, z);
"""
    ran = run(program(body, 2), HIPSCOPE_SANITIZE="all")
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "", "")
    assert json.loads((ran.out / "sanitize.json").read_text())["reports"] == []
