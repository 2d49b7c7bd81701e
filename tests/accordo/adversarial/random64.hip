#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void random64(unsigned* out, long long n, unsigned long long seed, long long shift) {
  const long long i = blockIdx.x * (long long)blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long s = seed + (unsigned long long)(i + shift) * 0x9e3779b97f4a7c15ull;
  s = (s ^ (s >> 30)) * 0xbf58476d1ce4e5b9ull;
  out[i] = (unsigned)((s ^ (s >> 27)) >> 16);
}
// kernel end
int main() {
  const long long n = 300;
  random64<<<5, 64>>>(zeros<unsigned>(n), n, 12345ull, 7ll);
  return finish();
}
