"""What our own headers add to older ones of HIP: indices as numbers, properties of HIP 6, newer functions."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.emulator.runner import header_overlay
from tests.emulator.hip_run import run_hip

INDICES = """
#include <algorithm>
template <class T> __device__ T twice(T v) { return v + v; }
__global__ void use(int* out, int n) {
  auto i = blockIdx.x * blockDim.x + threadIdx.x;
  i += 0;
  unsigned list[3] = {threadIdx.x, blockIdx.y, gridDim.z};
  dim3 block = blockDim, thread = threadIdx;
  auto later = [=] { return threadIdx.x; };
  static_assert(sizeof(threadIdx.x) == 4, "a number");
  int picked = threadIdx.x > 3 ? threadIdx.x : blockDim.x;
  if (i < n) out[i] = twice(threadIdx.x) + min(threadIdx.x, 7u) + list[2] + block.x + thread.x + picked + later();
  for (auto j = threadIdx.x; j < n; j += n) i += j;
  if (blockIdx.x == 1 && threadIdx.x == 65) printf("%u %u %d %u\\n", threadIdx.x, blockIdx.x, blockDim.x, gridDim.x);
}
int main() {
  int *d, h[256];
  CHECK(hipMalloc(&d, sizeof h));
  use<<<2, 128>>>(d, 256);
  CHECK(hipMemcpy(h, d, sizeof h, hipMemcpyDeviceToHost));
  std::printf("%d %d\\n", h[2], h[255]);
}
"""

NEWER = """
__global__ void put(int* p, int v) { p[threadIdx.x] = v; }
int main() {
  hipDeviceProp_t p;
  CHECK(hipGetDeviceProperties(&p, 0));
  std::printf("%d %zu %d %d\\n", p.warpSize, p.sharedMemPerMultiprocessor, p.unifiedAddressing,
              p.asyncEngineCount);
  hipDeviceProp_tR0000 old;
  CHECK(hipGetDevicePropertiesR0000(&old, 0));
  const int names = std::strcmp(old.gcnArchName, p.gcnArchName);
  std::printf("%d %d\\n", old.multiProcessorCount == p.multiProcessorCount, names);
  int *d, h[64], nine = 9, device = -1;
  CHECK(hipMalloc(&d, 256));
  hipStream_t s; CHECK(hipStreamCreate(&s)); CHECK(hipStreamGetDevice(s, &device));
  hipLaunchAttribute together{};
  together.id = hipLaunchAttributeCooperative;
  together.val.cooperative = 1;
  hipLaunchConfig_t config{dim3(1), dim3(64), 0, s, &together, 1};
  CHECK(hipLaunchKernelEx(&config, put, d, short(8)));
  CHECK(hipMemcpy(h, d, 256, hipMemcpyDeviceToHost));
  std::printf("%d %d", device, h[63]);
  hipFunction_t function; CHECK(hipGetFuncBySymbol(&function, (const void*)put));
  void* arguments[] = {&d, &nine};
  CHECK(hipModuleLaunchCooperativeKernel(function, 1, 1, 1, 64, 1, 1, 0, s, arguments));
  CHECK(hipMemcpy(h, d, 256, hipMemcpyDeviceToHost));
  const char* name;
  CHECK(hipDrvGetErrorName(hipErrorNotReady, &name));
  std::printf(" %d %s\\n", h[0], name);
}
"""

CONSTANTS = """
#include <hip/hip_math_constants.h>
__global__ void put(double* out) { out[0] = HIP_INF; out[1] = HIP_PI_F; }
int main() {
  size_t bytes = 0;
  CHECK(hipDeviceSetLimit(hipLimitStackSize, 2048));
  CHECK(hipDeviceGetLimit(&bytes, hipLimitStackSize));
  double *pinned, *seen;
  CHECK(hipHostAlloc((void**)&pinned, 16, hipHostAllocMapped | hipHostAllocPortable));
  CHECK(hipHostGetDevicePointer((void**)&seen, pinned, 0));
  put<<<1, 1>>>(seen);
  CHECK(hipDeviceSynchronize());
  hipPointerAttribute_t about;
  CHECK(hipPointerGetAttributes(&about, pinned));
  std::printf("%zu %g %.3f %d %d\\n", bytes, pinned[0], pinned[1], about.type == hipMemoryTypeHost, HIP_R_16BF);
}
"""

FUNCTIONS = """
__global__ void ask(unsigned long long* mask, int* third, double* most, float* least) {
  if (threadIdx.x % 2) *mask = __activemask();
  if (threadIdx.x == 0) *third = __fns(0xf0, 0, 3);
  unsafeAtomicMax(most, double(threadIdx.x));
  safeAtomicMin(least, -float(threadIdx.x));
}
int main() {
  struct { unsigned long long mask; int third; double most; float least; } *d, h{};
  CHECK(hipMalloc((void**)&d, sizeof h));
  CHECK(hipMemset(d, 0, sizeof h));
  ask<<<1, 64>>>(&d->mask, &d->third, &d->most, &d->least);
  CHECK(hipMemcpy(&h, d, sizeof h, hipMemcpyDeviceToHost));
  std::printf("%llx %d %g %g\\n", h.mask, h.third, h.most, h.least);
}
"""


def test_indices_are_numbers(tmp_path: Path) -> None:
    ran = run_hip(INDICES, tmp_path)
    # thread 2: 4 + 2 + 1 + 128 + 2 + 128 + 2; thread 127: 254 + 7 + 1 + 128 + 127 + 127 + 127
    assert ran.stdout.splitlines() == ["65 1 128 2", "267 771"], ran.stderr


def test_newer_functions_and_properties_are_declared(tmp_path: Path) -> None:
    ran = run_hip(NEWER, tmp_path)
    assert ran.stdout.splitlines() == ["64 65536 1 2", "1 0", "0 8 9 hipErrorNotReady"], ran.stderr


def test_newer_constants_and_the_kind_of_a_pointer_have_their_names(tmp_path: Path) -> None:
    ran = run_hip(CONSTANTS, tmp_path)
    assert ran.stdout == "2048 inf 3.142 1 14\n", ran.stderr


def test_newer_device_functions_are_there(tmp_path: Path) -> None:
    ran = run_hip(FUNCTIONS, tmp_path)
    assert ran.stdout == "aaaaaaaaaaaaaaaa 6 63 -63\n", ran.stderr


@pytest.mark.parametrize("compiler", ["gcc", "g++", "clang++"])
def test_compilers_of_host_code_take_the_headers(tmp_path: Path, compiler: str) -> None:
    toolchain = find_toolchain(Config())
    if header_overlay() not in toolchain.include_dirs:
        pytest.skip("the installed headers need nothing")
    header = "hip_runtime_api.h" if compiler == "gcc" else "hip_runtime.h"
    source = tmp_path / ("host.c" if compiler == "gcc" else "host.cpp")
    source.write_text(
        f"#include <hip/{header}>\n"
        "int main(void) { hipDeviceProp_t p; return (int)hipGetDeviceProperties(&p, 0) + p.gcnArch; }\n"
    )
    tool = str(toolchain.clang) if compiler == "clang++" else compiler
    host = ["-D__HIP_PLATFORM_AMD__", "-isystem", str(header_overlay()), "-fsyntax-only", str(source)]
    done = subprocess.run([tool, *host], capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr


SMALL_FLOATS = """
#include <hip/hip_cooperative_groups.h>
#include <hip/hip_fp8.h>
#include <cstdio>
int main() {
  __hip_fp8x2_e4m3_fnuz pair(__half2(__float2half(3.0f), __float2half(-0.4f)));
  __half2 back = static_cast<__half2>(pair);
  float one = __hip_fp8_e5m2(__float2half(1.9f)), two = __hip_bfloat16(1.003f);
  std::printf("%x %g %g %g %g\\n", pair.__x, __low2float(back), __high2float(back), one, two);
}
"""


@pytest.mark.parametrize("compiler", ["g++", "clang++", "hip"])
def test_small_floats_are_the_same_for_compilers_of_host_code(tmp_path: Path, compiler: str) -> None:
    if compiler == "hip":
        ran = run_hip(SMALL_FLOATS, tmp_path)
        assert ran.stdout == "b54c 3 -0.40625 2 1\n", ran.stderr
        return
    toolchain = find_toolchain(Config())
    if header_overlay() not in toolchain.include_dirs:
        pytest.skip("the installed headers need nothing")
    source = tmp_path / "host.cpp"
    source.write_text(SMALL_FLOATS)
    tool = str(toolchain.clang) if compiler == "clang++" else compiler
    words = ["-std=c++17", "-D__HIP_PLATFORM_AMD__", "-isystem", str(header_overlay()), str(source)]
    subprocess.run([tool, *words, "-o", str(tmp_path / "host")], check=True, timeout=120)
    done = subprocess.run([tmp_path / "host"], capture_output=True, text=True, timeout=60, check=False)
    assert done.stdout == "b54c 3 -0.40625 2 1\n"
