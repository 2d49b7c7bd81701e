// How often each byte occurs in a text, which here is plain English.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void bytes_histogram(const char* text, unsigned* bins, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&bins[(unsigned char)text[i]], 1u);
  }
}
// kernel end
int main() {
  const int n = 500;
  char* text = filled<char>(n, [](int i) { return "the quick brown fox jumps over the lazy dog. "[i % 45]; });
  bytes_histogram<<<1, 256>>>(text, zeros<unsigned>(256), n);
  return finish();
}
