// Complex numbers in the order of their reversed indices, in place, a batch along z.
#include "attack.hpp"
// kernel begin
__global__ void bitrev(float2* data, int logn, int batch) {
  if (logn < 1 || logn > 30) return;
  const int n = 1 << logn;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int b = blockIdx.z;
  if (i >= n || b >= batch) return;
  const int j = __brev((unsigned)i) >> (32 - logn);
  if (i < j) {
    float2* mine = data + (size_t)b * n;
    const float2 other = mine[j];
    mine[j] = mine[i];
    mine[i] = other;
  }
}
// kernel end
int main() {
  const int n = 1024, batch = 5;
  float2* data = filled<float2>(n * batch, [](int i) { return float2{number(2 * i), number(2 * i + 1)}; });
  bitrev<<<dim3(4, 1, 5), 256>>>(data, 10, batch);
  return told(data, n * batch);
}
