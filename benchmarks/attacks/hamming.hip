// The nearest of descriptors of 256 bits, by differing bits; of equal ones the first.
#include "attack.hpp"
// kernel begin
__global__ void hamming(const uint64_t* queries, const uint64_t* train, int2* best, int n, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int least = 257, at = -1;
  for (int k = 0; k < count; ++k) {
    int bits = 0;
    for (int w = 0; w < 4; ++w) bits += __popcll(queries[i * 4 + w] ^ train[k * 4 + w]);
    if (bits < least) {
      least = bits;
      at = k;
    }
  }
  best[i] = make_int2(at, least);
}
// kernel end
int main() {
  const int n = 250, count = 30;
  auto wide = [](int i) { return (uint64_t)bits(2 * i) << 32 | bits(2 * i + 1); };
  auto* best = filled<int2>(n, [](int) { return make_int2(0, 0); });
  hamming<<<4, 64>>>(filled<uint64_t>(n * 4, wide), filled<uint64_t>(count * 4, [](int i) { return (uint64_t)bits(i + 7777) << 32 | bits(i + 99999); }), best, n, count);
  return told(best, n);
}
