// Whether a pattern begins at each place of a text.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void search(const char* text, const char* pattern, unsigned char* hit, int n, int m) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int k = 0;
  while (k < m && i + k < n && text[i + k] == pattern[k]) ++k;
  hit[i] = k == m;
}
// kernel end
int main() {
  const int n = 400;
  char* text = filled<char>(n, [](int i) { return "acgtacgtacttgacgtagg"[i % 20 * 7 % 20]; });
  char* pattern = filled<char>(6, [](int i) { return "acgtacgtacttgacgtagg"[(i + 4) * 7 % 20]; });
  search<<<7, 64>>>(text, pattern, zeros<unsigned char>(n), n, 6);
  return finish();
}
