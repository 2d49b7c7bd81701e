// How many keys of each workgroup have each digit.
#include "attack.hpp"
// kernel begin
__global__ void digitcount(const unsigned long long* keys, unsigned* counts, int n, int shift) {
  __shared__ unsigned own[16];
  if (threadIdx.x < 16) own[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x)
    atomicAdd(&own[keys[i] >> shift & 15], 1u);
  __syncthreads();
  if (threadIdx.x < 16) counts[threadIdx.x * gridDim.x + blockIdx.x] = own[threadIdx.x];
}
// kernel end
int main() {
  const int n = 3000;
  auto* keys = filled<unsigned long long>(n, [](int i) { return (unsigned long long)bits(i); });
  unsigned* counts = zeros<unsigned>(16 * 6);
  digitcount<<<6, 128>>>(keys, counts, n, 4);
  return told(counts, 16 * 6);
}
