// Cooperative launch: a barrier of the whole grid, and the refusal of a grid that does not fit.
#include <hip/hip_runtime.h>
// the next one needs the first
#include <hip/hip_cooperative_groups.h>

#include <cstdio>

namespace cg = cooperative_groups;

__global__ void turns(unsigned* data, unsigned* out, int n) {
  cg::grid_group grid = cg::this_grid();
  const unsigned i = grid.thread_rank();
  for (int round = 0; round < 5; ++round) {
    data[i] = i + round;
    grid.sync();
    out[i] += data[(i + n / 2 + round) % n];
    grid.sync();
  }
  if (i == 0) data[n] = grid.is_valid() ? grid.size() : 0;
}

int main() {
  int n = 16384;
  unsigned *data, *out;
  if (hipMallocManaged(&data, (n + 1) * 4) != hipSuccess || hipMallocManaged(&out, n * 4) != hipSuccess) return 1;
  for (int i = 0; i < n; ++i) out[i] = 0;
  void* args[] = {&data, &out, &n};
  auto* kernel = reinterpret_cast<void*>(turns);
  if (hipLaunchCooperativeKernel(kernel, n / 256, 256, args, 0, nullptr) != hipSuccess) return 1;
  if (hipDeviceSynchronize() != hipSuccess) return 1;
  unsigned wrong = data[n] != static_cast<unsigned>(n);
  for (int i = 0; i < n; ++i) {
    unsigned expected = 0;
    for (int round = 0; round < 5; ++round) expected += (i + n / 2 + round) % n + round;
    wrong += out[i] != expected;
  }
  if (hipLaunchCooperativeKernel(kernel, 100000, 256, args, 0, nullptr) != hipErrorCooperativeLaunchTooLarge) ++wrong;
  std::puts(wrong == 0 ? "PASS" : "FAIL");
  return wrong != 0;
}
