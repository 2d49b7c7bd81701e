// Sums from the last flag on, in each workgroup's tile.
#include "attack.hpp"
// kernel begin
__global__ void segscan(const int64_t* in, const unsigned char* heads, int64_t* out, int n) {
  __shared__ int64_t sums[256];
  __shared__ int begun[256];
  const int t = threadIdx.x, i = blockIdx.x * blockDim.x + t;
  sums[t] = i < n ? in[i] : 0;
  begun[t] = i < n && heads[i] ? 1 : 0;
  __syncthreads();
  for (int s = 1; s < blockDim.x; s *= 2) {
    const int64_t before = t >= s ? sums[t - s] : 0;
    const int flag = t >= s ? begun[t - s] : 0;
    __syncthreads();
    if (!begun[t]) sums[t] += before;
    begun[t] |= flag;
    __syncthreads();
  }
  if (i < n) out[i] = sums[t];
}
// kernel end
int main() {
  const int n = 1500;
  auto* heads = filled<unsigned char>(n, [](int i) { return (unsigned char)(bits(i) % 7 == 0); });
  int64_t* out = zeros<int64_t>(n);
  segscan<<<12, 128>>>(upto<int64_t>(n, 1000), heads, out, n);
  return told(out, n);
}
