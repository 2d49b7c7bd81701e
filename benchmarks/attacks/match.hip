// Where a pattern begins in a text.
#include "attack.hpp"
// kernel begin
__global__ void match(const unsigned char* text, int length, const unsigned char* pattern, int count, unsigned char* found) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i + count > length) return;
  int k = 0;
  while (k < count && text[i + k] == pattern[k]) ++k;
  found[i] = k == count;
}
// kernel end
int main() {
  const int length = 5000;
  auto* text = filled<unsigned char>(length, [](int i) { return (unsigned char)("abcab"[bits(i) % 5]); });
  auto* pattern = filled<unsigned char>(4, [](int i) { return (unsigned char)"abca"[i]; });
  auto* found = zeros<unsigned char>(length);
  match<<<40, 128>>>(text, length, pattern, 4, found);
  return told(found, length);
}
