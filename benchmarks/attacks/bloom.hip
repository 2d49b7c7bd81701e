// Which keys a Bloom filter may hold: all of their bits are set.
#include "attack.hpp"
// kernel begin
__device__ inline uint64_t mixed(uint64_t x) {
  x = (x ^ x >> 33) * 0xff51afd7ed558ccdull;
  return x ^ x >> 29;
}
__global__ void bloom(const unsigned* filter, unsigned size, int hashes, const uint64_t* keys, unsigned char* hits, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const uint64_t key = keys[i];
  const unsigned a = (unsigned)mixed(key), b = (unsigned)(mixed(key) >> 32) | 1u;
  unsigned char hit = 1;
  for (int j = 0; j < hashes; ++j) {
    const unsigned bit = (a + (unsigned)j * b) % size;
    if (!(filter[bit / 32] >> (bit % 32) & 1u)) hit = 0;
  }
  hits[i] = hit;
}
// kernel end
int main() {
  const unsigned size = 4096;
  const int n = 900;
  unsigned* filter = filled<unsigned>(size / 32, [](int i) { return bits(i) | bits(i + 1000); });
  auto* hits = zeros<unsigned char>(n);
  bloom<<<8, 128>>>(filter, size, 4, filled<uint64_t>(n, [](int i) { return (uint64_t)bits(i); }), hits, n);
  return told(hits, n);
}
