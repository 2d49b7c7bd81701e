// Sums of segments of a list, one wave each.
#include "attack.hpp"
// kernel begin
__global__ void segments(const double* values, const int* ends, double* sums, int count) {
  const int s = (blockIdx.x * blockDim.x + threadIdx.x) / 64, lane = threadIdx.x % 64;
  if (s >= count) return;
  const int begin = s == 0 ? 0 : ends[s - 1];
  double sum = 0.0;
  for (int i = begin + lane; i < ends[s]; i += 64) sum += values[i];
  for (int k = 32; k > 0; k /= 2) sum += __shfl_down(sum, k);
  if (lane == 0) sums[s] = sum;
}
// kernel end
int main() {
  const int count = 40, each = 30;
  double* sums = zeros<double>(count);
  segments<<<10, 256>>>(numbers<double>(count * each), filled<int>(count, [](int i) { return 30 * (i + 1); }), sums, count);
  return told(sums, count);
}
