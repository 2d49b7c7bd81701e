// A sum in one launch: each workgroup leaves its part, the last one that ends adds them up.
#include "attack.hpp"
// kernel begin
__global__ void lastsum(const float* in, volatile float* parts, unsigned* ended, float* out, int n) {
  __shared__ float sums[256];
  __shared__ bool last;
  const int t = threadIdx.x;
  float sum = 0.0f;
  for (int i = blockIdx.x * blockDim.x + t; i < n; i += gridDim.x * blockDim.x) sum += in[i];
  sums[t] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half >>= 1) {
    if (t < half) sums[t] += sums[t + half];
    __syncthreads();
  }
  if (t == 0) {
    parts[blockIdx.x] = sums[0];
    __threadfence();
    last = atomicInc(ended, gridDim.x - 1) == gridDim.x - 1;
  }
  __syncthreads();
  if (!last) return;
  __threadfence();
  sum = 0.0f;
  for (int i = t; i < gridDim.x; i += blockDim.x) sum += parts[i];
  sums[t] = sum;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half >>= 1) {
    if (t < half) sums[t] += sums[t + half];
    __syncthreads();
  }
  if (t == 0) out[0] = sums[0];
}
// kernel end
int main() {
  const int n = 20000;
  float* out = zeros<float>(1);
  lastsum<<<24, 256>>>(numbers(n), zeros<float>(24), zeros<unsigned>(1), out, n);
  return told(out, 1);
}
