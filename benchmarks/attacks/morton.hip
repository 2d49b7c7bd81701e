// Morton codes of three coordinates of 21 bits.
#include "attack.hpp"
// kernel begin
__device__ inline uint64_t spread(uint64_t x) {
  x &= 0x1fffff;
  x = (x | x << 32) & 0x1f00000000ffffull;
  x = (x | x << 16) & 0x1f0000ff0000ffull;
  x = (x | x << 8) & 0x100f00f00f00f00full;
  x = (x | x << 4) & 0x10c30c30c30c30c3ull;
  return (x | x << 2) & 0x1249249249249249ull;
}
__global__ void morton(const uint3* points, uint64_t* codes, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const uint3 p = points[i];
  codes[i] = spread(p.x) | spread(p.y) << 1 | spread(p.z) << 2;
}
// kernel end
int main() {
  const int n = 900;
  auto* codes = zeros<uint64_t>(n);
  morton<<<8, 128>>>(filled<uint3>(n, [](int i) { return make_uint3(bits(3 * i) % 1024, bits(3 * i + 1) % 1024, bits(3 * i + 2) % 1024); }), codes, n);
  return told(codes, n);
}
