// How many of random points lie in the circle: a generator for each work-item, sums in LDS, one atomic a workgroup.
#include "attack.hpp"
// kernel begin
__global__ void walk(const unsigned* seeds, unsigned long long* total, int n, int steps) {
  __shared__ unsigned inside[256];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned hits = 0;
  if (i < n) {
    unsigned s = seeds[i] | 1u;
    for (int k = 0; k < steps; ++k) {
      s ^= s << 13;
      s ^= s >> 17;
      s ^= s << 5;
      const float x = (s >> 16) * (1.0f / 65536.0f), y = (s & 0xffff) * (1.0f / 65536.0f);
      hits += x * x + y * y < 1.0f;
    }
  }
  inside[threadIdx.x] = hits;
  __syncthreads();
  for (int half = blockDim.x / 2; half > 0; half >>= 1) {
    if (threadIdx.x < half) inside[threadIdx.x] += inside[threadIdx.x + half];
    __syncthreads();
  }
  if (threadIdx.x == 0) atomicAdd(total, (unsigned long long)inside[0]);
}
// kernel end
int main() {
  const int n = 1500;
  unsigned long long* total = zeros<unsigned long long>(1);
  walk<<<6, 256>>>(filled<unsigned>(n, [](int i) { return bits(i) | 1u; }), total, n, 40);
  return told(total, 1);
}
