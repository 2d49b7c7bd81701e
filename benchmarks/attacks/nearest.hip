// For each point the nearest centre; of equal ones the first.
#include "attack.hpp"
// kernel begin
__global__ void nearest(const float* points, const float* centres, int* best, int n, int k, int dims) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float least = INFINITY;
  int at = -1;
  for (int c = 0; c < k; ++c) {
    float sum = 0.0f;
    for (int d = 0; d < dims; ++d) {
      const float x = points[i * dims + d] - centres[c * dims + d];
      sum += x * x;
    }
    if (sum < least) {
      least = sum;
      at = c;
    }
  }
  best[i] = at;
}
// kernel end
int main() {
  const int n = 500, k = 12, dims = 3;
  int* best = zeros<int>(n);
  nearest<<<4, 128>>>(numbers(n * dims), numbers(k * dims), best, n, k, dims);
  return told(best, n);
}
