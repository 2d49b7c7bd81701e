// Particles leave their charge at the two grid points beside them, in a ring.
#include "attack.hpp"
// kernel begin
__global__ void deposit(const float* place, const int* charge, int* grid, int n, int cells, int scale) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || cells < 1) return;
  const float at = floorf(place[i]);
  if (!(at >= 0.0f && at < (float)cells)) return;
  const int left = (int)at, part = (int)((place[i] - at) * (float)scale);
  atomicAdd(grid + left, charge[i] * (scale - part));
  atomicAdd(grid + (left + 1) % cells, charge[i] * part);
}
// kernel end
int main() {
  const int n = 700, cells = 90;
  auto* place = filled<float>(n, [](int i) { return (bits(i) % 9500) / 100.0f; });
  int* grid = zeros<int>(cells);
  deposit<<<6, 128>>>(place, upto<int>(n, 50), grid, n, cells, 1000);
  return told(grid, cells);
}
