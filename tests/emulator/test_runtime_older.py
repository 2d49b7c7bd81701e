"""Functions that older programs and compilers call, and errors that HIP has names for."""

from __future__ import annotations

from pathlib import Path

import pytest

from hipscope.emulator.devices import write_device_config
from tests.emulator.hip_run import run_hip

LAUNCH = """
__global__ void put(char* p, char a, double b, short c) { p[threadIdx.x] = char(a + b + c); }
extern "C" hipError_t hipLaunchByPtr(const void*);
int main() {
  char *d, h[64];
  CHECK(hipMalloc(&d, 64));
  char a = 1; double b = 20; short c = 3;
  CHECK(hipConfigureCall(dim3(1), dim3(64), 0, nullptr));
  CHECK(hipSetupArgument(&d, 8, 0)); CHECK(hipSetupArgument(&a, 1, 8));
  CHECK(hipSetupArgument(&b, 8, 16)); CHECK(hipSetupArgument(&c, 2, 24));
  CHECK(hipLaunchByPtr((const void*)put));
  CHECK(hipMemcpy(h, d, 64, hipMemcpyDeviceToHost));
  std::printf("%d %s", h[63], hipGetErrorName(hipLaunchByPtr((const void*)put)));
  std::printf(" %s\\n", hipGetErrorName(hipSetupArgument(&a, 1, 0)));
}
"""

# As the headers of HIP 5.7 (Debian 13) declare it, with which the definition of our overlay has to agree.
CLOCK = """
extern "C" __device__ unsigned long long __ockl_steadyctr_u64();
__global__ void tell(long long* p) { *p = wall_clock64() >= 0; }
int main() {
  long long *d, h = 0;
  CHECK(hipMalloc(&d, 8));
  tell<<<1, 1>>>(d);
  CHECK(hipMemcpy(&h, d, 8, hipMemcpyDeviceToHost));
  std::printf("%lld\\n", h);
}
"""

CONVERSIONS = """
extern "C" unsigned short __gnu_f2h_ieee(float);
extern "C" float __gnu_h2f_ieee(unsigned short);
int main() {
  unsigned back = 0;
  for (unsigned h = 0; h < 65536; ++h) {
    const bool nan = (h & 0x7c00) == 0x7c00 && (h & 0x3ff) != 0;
    back += nan || __gnu_f2h_ieee(__gnu_h2f_ieee(h)) == h;
  }
  hipChannelFormatDesc c = hipCreateChannelDesc(32, 16, 8, 4, hipChannelFormatKindFloat);
  std::printf("%u %g %x %d%d%d%d %d\\n", back, __gnu_h2f_ieee(0x3555), __gnu_f2h_ieee(65520.0f), c.x, c.y, c.z, c.w,
              c.f == hipChannelFormatKindFloat);
}
"""

ERRORS = """
int main() {
  for (int code : {4, 12, 35, 52, 216, 218, 304, 702, 709, 710, 1053})
    std::printf("%s ", hipGetErrorName(hipError_t(code)));
  std::printf("%s\\n", hipGetErrorName(hipError_t(777)));
  std::vector<char> host(8192), rows(1000);
  char* d; CHECK(hipMalloc(&d, 1000));
  CHECK(hipHostRegister(host.data(), host.size(), 0));
  std::printf("%s ", hipGetErrorName(hipHostRegister(host.data(), host.size(), 0)));
  CHECK(hipHostUnregister(host.data()));
  CHECK(hipHostRegister(host.data(), host.size(), 0));
  std::printf("%s\\n", hipGetErrorName(hipMemcpy2D(d, 10, rows.data(), 100, 60, 5, hipMemcpyHostToDevice)));
}
"""

MODULE = """
#include <hip/hip_ext.h>
__global__ void put(int* p) { p[blockIdx.x * blockDim.x + threadIdx.x] = 7; }
int main() {
  int *d, h[128] = {};
  CHECK(hipMalloc(&d, sizeof h)); CHECK(hipMemset(d, 0, sizeof h));
  hipFunction_t f; CHECK(hipGetFuncBySymbol(&f, (const void*)put));
  void* arguments[] = {&d};
  std::printf("%s ", hipGetErrorName(hipExtModuleLaunchKernel(f, 100, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr)));
  CHECK(hipExtModuleLaunchKernel(f, 128, 1, 1, 64, 1, 1, 0, nullptr, arguments, nullptr));
  CHECK(hipMemcpy(h, d, sizeof h, hipMemcpyDeviceToHost));
  std::printf("%d\\n", h[127]);
}
"""

DEVICE = """
int main() {
  hipDeviceProp_tR0000 p; CHECK(hipGetDevicePropertiesR0000(&p, 0));
  int arch, parts, waits;
  CHECK(hipDeviceGetAttribute(&arch, hipDeviceAttributeGcnArch, 0));
  CHECK(hipDeviceGetAttribute(&parts, hipDeviceAttributeNumberOfXccs, 0));
  CHECK(hipDeviceGetAttribute(&waits, hipDeviceAttributeCanUseStreamWaitValue, 0));
  hipDeviceProp_t newer; CHECK(hipGetDeviceProperties(&newer, 0));
  int rate; CHECK(hipDeviceGetAttribute(&rate, hipDeviceAttributeWallClockRate, 0));
  std::printf("%d %d %d %d %d %d", p.gcnArch, arch, newer.gcnArch, parts, waits, rate);
  std::printf(" %d\\n", newer.streamPrioritiesSupported);
}
"""


def test_arguments_are_set_up_one_by_one(tmp_path: Path) -> None:
    ran = run_hip(LAUNCH, tmp_path)
    assert ran.stdout == "24 hipErrorMissingConfiguration hipErrorMissingConfiguration\n", ran.stderr


def test_conversions_that_compilers_call(tmp_path: Path) -> None:
    ran = run_hip(CONVERSIONS, tmp_path)
    assert ran.stdout == "65536 0.333252 7c00 321684 1\n", ran.stderr


def test_the_clock_of_newer_headers_agrees_with_the_overlay(tmp_path: Path) -> None:
    ran = run_hip(CLOCK, tmp_path)
    assert ran.stdout == "1\n", ran.stderr


def test_errors_have_their_names(tmp_path: Path) -> None:
    ran = run_hip(ERRORS, tmp_path)
    named, refused = ran.stdout.splitlines()
    assert named == (
        "hipErrorDeinitialized hipErrorInvalidPitchValue hipErrorInsufficientDriver hipErrorMissingConfiguration "
        "hipErrorContextAlreadyInUse hipErrorInvalidKernelFile hipErrorOperatingSystem hipErrorLaunchTimeOut "
        "hipErrorContextIsDestroyed hipErrorAssert hipErrorRuntimeOther hipErrorUnknown"
    ), ran.stderr
    assert refused == "hipErrorHostMemoryAlreadyRegistered hipErrorInvalidPitchValue"


def test_a_grid_in_work_items_is_never_cut(tmp_path: Path) -> None:
    ran = run_hip(MODULE, tmp_path)
    assert ran.stdout == "hipErrorNotSupported 7\n", ran.stderr
    assert ran.stderr.count("no multiple of the workgroup") == 1


@pytest.mark.parametrize(
    ("device", "said"),
    [
        ("mi300a", "942 942 942 6 1 100000 1"),
        ("mi210", "910 910 910 1 1 100000 1"),
        ("mi355x", "950 950 950 8 1 100000 1"),
    ],
)
def test_the_architecture_is_that_of_the_device(tmp_path: Path, device: str, said: str) -> None:
    config = write_device_config(device, tmp_path / "other.txt")
    ran = run_hip(DEVICE, tmp_path, HIPSCOPE_DEVICE_CONFIG=str(config))
    assert ran.stdout == said + "\n", ran.stderr
