// The largest of each window of 2 r + 1 numbers, r up to 32; NaN is never largest, and outside is nothing.
#include "attack.hpp"
// kernel begin
__global__ void slidemax(const float* in, float* out, int n, int r) {
  __shared__ float tile[256 + 2 * 32];
  const int first = blockIdx.x * blockDim.x - r;
  for (int k = threadIdx.x; k < (int)blockDim.x + 2 * r; k += blockDim.x) {
    const int at = first + k;
    tile[k] = at >= 0 && at < n ? in[at] : -INFINITY;
  }
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float most = -INFINITY;
  for (int k = 0; k <= 2 * r; ++k) most = fmaxf(most, tile[threadIdx.x + k]);
  out[i] = most;
}
// kernel end
int main() {
  const int n = 2048, r = 5;
  float* out = zeros<float>(n);
  slidemax<<<8, 256>>>(numbers(n), out, n, r);
  return told(out, n);
}
