// Blocks of tokens expanded, one work-item each: a token is a letter, or a distance back and a length.
#include "attack.hpp"
// kernel begin
__global__ void lz(const unsigned* tokens, const int* begins, unsigned char* text, int* lengths, int blocks, int room) {
  const int b = blockIdx.x * blockDim.x + threadIdx.x;
  if (b >= blocks) return;
  unsigned char* out = text + (size_t)b * room;
  int n = 0;
  for (int k = begins[b]; k < begins[b + 1] && n < room; ++k) {
    const unsigned token = tokens[k];
    if (token >> 31 == 0) {
      out[n++] = (unsigned char)token;
      continue;
    }
    const int back = token & 0xffff, length = token >> 16 & 0x7fff;
    for (int i = 0; i < length && n < room; ++i, ++n) out[n] = back > 0 && back <= n ? out[n - back] : 0;
  }
  lengths[b] = n;
}
// kernel end
int main() {
  const int blocks = 90, each = 14, room = 96;
  auto* tokens = filled<unsigned>(blocks * each, [](int i) { return i % 14 > 3 && bits(i) % 3 == 0 ? 0x80000000u | (bits(i + 5) % 9) << 16 | (1 + bits(i + 9) % 5) : bits(i) % 128; });
  auto* begins = filled<int>(blocks + 1, [](int i) { return i * 14; });
  auto* text = zeros<unsigned char>(blocks * room);
  int* lengths = zeros<int>(blocks);
  lz<<<2, 64>>>(tokens, begins, text, lengths, blocks, room);
  return told(text, blocks * room) + told(lengths, blocks);
}
