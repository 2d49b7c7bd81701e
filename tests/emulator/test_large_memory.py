"""Blocks as large as a GPU's memory, on hosts that have less."""

from __future__ import annotations

from pathlib import Path

from tests.emulator.hip_run import run_hip

# Peak memory is that of the whole process; what the runtime takes by itself is far below 1 GiB.
ZEROS = """
long peak_mib() {
  long kib = 0; char line[256];
  FILE* f = fopen("/proc/self/status", "r");
  while (fgets(line, sizeof line, f) && sscanf(line, "VmHWM: %ld", &kib) != 1) {}
  fclose(f);
  return kib / 1024;
}
__global__ void look(const unsigned char* p, size_t n, int* wrong) {
  for (size_t i = threadIdx.x; i < 4096; i += 64) {
    bool inside_front = i >= 3, inside_back = n - 1 - i < n - 5;
    if (p[i] != (inside_front ? 0 : 7)) atomicAdd(wrong, 1);
    if (p[n - 1 - i] != (inside_back ? 0 : 7)) atomicAdd(wrong, 1);
    if (p[n / 2 + i] != 0) atomicAdd(wrong, 1);
  }
}
int main() {
  const size_t n = 40ull << 30;
  unsigned char* p; int* wrong;
  CHECK(hipMalloc(&p, n)); CHECK(hipMallocManaged(&wrong, 4)); *wrong = 0;
  CHECK(hipMemset(p, 7, 8192)); CHECK(hipMemset(p + n / 2, 7, 8192)); CHECK(hipMemset(p + n - 8192, 7, 8192));
  CHECK(hipMemset(p + 3, 0, n - 8));
  look<<<1, 64>>>(p, n, wrong);
  CHECK(hipDeviceSynchronize());
  if (*wrong != 0) { printf("%d wrong\\n", *wrong); return 1; }
  if (peak_mib() > 1024) { printf("%ld MiB\\n", peak_mib()); return 1; }
}
"""

SHARED_ZEROS = """
int main() {
  const size_t n = 1ull << 30;
  hipMemAllocationProp prop{}; prop.type = hipMemAllocationTypePinned; prop.location.type = hipMemLocationTypeDevice;
  hipMemGenericAllocationHandle_t memory; CHECK(hipMemCreate(&memory, n, &prop, 0));
  hipMemAccessDesc access{}; access.location = prop.location; access.flags = hipMemAccessFlagsProtReadWrite;
  char* p[2];
  for (char*& at : p) {
    CHECK(hipMemAddressReserve((void**)&at, n, 0, nullptr, 0)); CHECK(hipMemMap(at, n, 0, memory, 0));
    CHECK(hipMemSetAccess(at, n, &access, 1));
  }
  char seen = 0;
  CHECK(hipMemset(p[1] + n / 2, 7, 1));
  CHECK(hipMemset(p[0], 0, n));
  CHECK(hipMemcpy(&seen, p[1] + n / 2, 1, hipMemcpyDeviceToHost));
  if (seen != 0) { printf("still %d\\n", seen); return 1; }
}
"""


def test_zeros_in_more_memory_than_the_host_has(tmp_path: Path) -> None:
    result = run_hip(ZEROS, tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr


def test_zeros_at_two_addresses_of_one_block(tmp_path: Path) -> None:
    result = run_hip(SHARED_ZEROS, tmp_path)
    assert result.returncode == 0, result.stdout + result.stderr
