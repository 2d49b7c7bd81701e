// Uniform floats in [0, 1) from Philox 4x32 with a counter of 64 bits.
#include "attack.hpp"
// kernel begin
__global__ void philox(float4* out, int n, uint64_t seed, uint64_t offset) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const uint64_t count = offset + i;
  unsigned c0 = (unsigned)count, c1 = (unsigned)(count >> 32), c2 = 0, c3 = 0;
  unsigned k0 = (unsigned)seed, k1 = (unsigned)(seed >> 32);
  for (int round = 0; round < 10; ++round) {
    const uint64_t a = 0xD2511F53ull * c0, b = 0xCD9E8D57ull * c2;
    const unsigned n0 = (unsigned)(b >> 32) ^ c1 ^ k0, n2 = (unsigned)(a >> 32) ^ c3 ^ k1;
    c1 = (unsigned)b;
    c3 = (unsigned)a;
    c0 = n0;
    c2 = n2;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  const float unit = 1.0f / 16777216.0f;
  out[i] = make_float4((c0 >> 8) * unit, (c1 >> 8) * unit, (c2 >> 8) * unit, (c3 >> 8) * unit);
}
// kernel end
int main() {
  const int n = 700;
  auto* out = filled<float4>(n, [](int) { return make_float4(0, 0, 0, 0); });
  philox<<<6, 128>>>(out, n, 0x1234567ull, 0);
  return told(out, n);
}
