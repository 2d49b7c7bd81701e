"""What kernels ask of the host while they run: printf, assert, malloc and free on the device."""

from __future__ import annotations

import re
import signal
from pathlib import Path

import pytest

from hipscope.analysis.config import Config
from hipscope.analysis.toolchain.discovery import find_toolchain
from hipscope.emulator.raw import read_faults
from tests.emulator.hip_run import run_hip

PRINT = """
#define LINE(...) printf(__VA_ARGS__)
#define LINES(t) \\
  LINE("%d %5d|%-5d|%05d %+d % d\\n", t, t, t, t, t, t); \\
  LINE("%u %x %X %#o %hhd %hd %ld %lld %zu\\n", -1, 255u, 255u, 8, 300, 70000, -5L, -6LL, sizeof(int)); \\
  LINE("%f %.2f %10.3e %g %a %%\\n", 1.5f * t, 2.0 / 3, 12345.678, 1e-9, 1.0); \\
  LINE("[%s] [%10s] [%-6s] [%.2s] %c\\n", \\
       "text of more than one packet: 0123456789 0123456789 0123456789", "r", "l", "cut", 'c'); \\
  LINE("[%*d] [%-*d] [%.*f]\\n", 6, t, 6, t, 3, 2.0); \\
  LINE("no conversion, and one argument too many\\n", t); \\
  LINE("%d %d %d %d %d %d %d %d %d %d\\n", 1, 2, 3, 4, 5, 6, 7, 8, 9, t); \\
  LINE("%s", ""); LINE("\\n");
__global__ void show() { if (threadIdx.x == 65) { LINES(7) } }
int main() {
  show<<<1, 128>>>();
  CHECK(hipDeviceSynchronize());
  std::puts("--");
  LINES(7)
}
"""


def buffered_printf() -> tuple[str, ...]:
    """Compile printf for the buffer; the function that hands it out is in a library that HIP does not link."""
    folder = find_toolchain(Config()).device_lib_path
    if folder is None or not (folder / "opencl.bc").exists():
        pytest.skip("the device library has no opencl.bc")
    return (
        "-mprintf-kind=buffered",
        "-Xclang",
        "-mlink-builtin-bitcode",
        "-Xclang",
        str(folder / "opencl.bc"),
    )


@pytest.mark.parametrize("buffered", [False, True], ids=["hostcall", "buffered"])
def test_device_printf_prints_what_the_same_call_prints_on_the_host(tmp_path: Path, buffered: bool) -> None:
    device_flags = buffered_printf() if buffered else ()
    ran = run_hip(PRINT, tmp_path, flags=("-Wno-everything",), device_flags=device_flags)
    device, host = ran.stdout.split("--\n")
    assert device == host
    assert len(host.splitlines()) == 8


ORDER = """
__global__ void show(int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x % 32 == 0) printf("%d of %d returns %d\\n", i, n, printf("12345\\n"));
}
int main() {
  std::printf("before\\n");
  show<<<40, 128>>>(1);
  CHECK(hipDeviceSynchronize());
  std::printf("between\\n");
  show<<<1, 64>>>(2);
  CHECK(hipDeviceSynchronize());
  std::printf("after\\n");
}
"""


@pytest.mark.parametrize("buffered", [False, True], ids=["hostcall", "buffered"])
@pytest.mark.parametrize("profile", [False, True], ids=["plain", "profiled"])
def test_device_printf_has_one_order_for_any_number_of_threads(
    tmp_path: Path, profile: bool, buffered: bool
) -> None:
    device_flags = buffered_printf() if buffered else ()
    one = run_hip(ORDER, tmp_path, threads=1, profile=profile, device_flags=device_flags).stdout
    two = run_hip(ORDER, tmp_path, threads=2, profile=profile, device_flags=device_flags).stdout
    assert one == two
    lines = [line for line in one.splitlines() if line != "12345"]
    blocks = [int(line.split()[0]) // 128 for line in lines[1:161]]
    assert blocks == sorted(blocks)
    assert len(lines) == 165
    assert lines[0] == "before"
    assert lines[161] == "between"
    returned = 0 if buffered else 6  # the size of the text is not known to who writes into the buffer
    assert lines[162:] == [f"0 of 2 returns {returned}", f"32 of 2 returns {returned}", "after"]


ASSERT = """
#include <cassert>
__global__ void check(const int* data, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  assert(data[i] < n && "the value is too large");
}
int main(int argc, char**) {
  int* d; CHECK(hipMalloc(&d, 4096));
  std::vector<int> h(1024);
  for (int i = 0; i < 1024; ++i) h[i] = i;
  CHECK(hipMemcpy(d, h.data(), 4096, hipMemcpyHostToDevice));
  check<<<4, 256>>>(d, 1024);
  CHECK(hipDeviceSynchronize());
  std::puts("holds"); std::fflush(stdout);
  check<<<4, 256>>>(d, 1022);
  (void)hipDeviceSynchronize();
  std::puts("not reached");
}
"""


def test_a_device_assertion_that_fails_says_where_and_aborts_the_program(tmp_path: Path) -> None:
    ran = run_hip(ASSERT, tmp_path, profile=True)
    assert ran.stdout == "holds\n"
    assert ran.returncode == -signal.SIGABRT
    said = re.findall(r"program\.hip:\d+: .*check\(.*\): Device-side assertion `(.*)' failed\.\n", ran.stderr)
    assert said == ['data[i] < n && "the value is too large"'] * 2
    assert ran.stderr.splitlines()[-1].startswith(
        "hipscope emulator: kernel _Z5checkPKii: a device-side assertion failed"
    )
    assert [fault.kind for fault in read_faults(tmp_path / "out")] == ["assertion"]


HEAP = """
__global__ void make(int** out, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int* p = static_cast<int*>(malloc(n * sizeof(int)));
  if (p) for (int k = 0; k < n; ++k) p[k] = i * 1000 + k;
  out[i] = p;
}
__global__ void take(int** out, int n, unsigned* bad, unsigned* none) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int* p = out[i];
  if (!p) { atomicAdd(none, 1u); return; }
  for (int k = 0; k < n; ++k) if (p[k] != i * 1000 + k) atomicAdd(bad, 1u);
  free(p);
}
struct Node { int value; Node* next; };
__global__ void list(unsigned* bad) {
  Node* head = nullptr;
  for (int k = 0; k < 20; ++k) head = new Node{k + (int)threadIdx.x, head};
  for (int k = 19; k >= 0; --k) {
    if (head->value != k + (int)threadIdx.x) atomicAdd(bad, 1u);
    Node* next = head->next;
    delete head;
    head = next;
  }
  if (head) atomicAdd(bad, 1u);
}
#include <dlfcn.h>
using SetLimit = hipError_t (*)(hipLimit_t, size_t);  // not in older headers and libraries
int main() {
  const int items = 16 * 192;
  int** out; CHECK(hipMalloc(&out, items * sizeof(int*)));
  unsigned* counts; CHECK(hipMallocManaged(&counts, 8));
  for (int n : {1, 6, 40, 300, 767, 800, 5000}) for (int again = 0; again < 2; ++again) {
    counts[0] = counts[1] = 0;
    make<<<16, 192>>>(out, n);
    take<<<16, 192>>>(out, n, counts, counts + 1);
    CHECK(hipDeviceSynchronize());
    if (counts[0] || counts[1]) std::printf("%d: %u wrong, %u without memory\\n", n, counts[0], counts[1]);
  }
  counts[0] = 0;
  list<<<8, 100>>>(counts);
  CHECK(hipDeviceSynchronize());
  std::printf("%u\\n", counts[0]);
  auto set_limit = reinterpret_cast<SetLimit>(dlsym(RTLD_DEFAULT, "hipDeviceSetLimit"));
  CHECK(set_limit(hipLimitMallocHeapSize, 1 << 20));
  make<<<16, 192>>>(out, 5000);
  counts[0] = counts[1] = 0;
  take<<<16, 192>>>(out, 5000, counts, counts + 1);
  CHECK(hipDeviceSynchronize());
  std::printf("%u %d\\n", counts[0], counts[1] == 3072);
}
"""


@pytest.mark.parametrize("profile", [False, True], ids=["plain", "profiled"])
def test_device_malloc_gives_memory_of_its_own_and_null_when_the_heap_is_full(
    tmp_path: Path, profile: bool
) -> None:
    ran = run_hip(HEAP, tmp_path, profile=profile)
    assert ran.stdout == "0\n0 1\n", ran.stderr
    assert ran.stderr.count("the device heap is full") == 1
