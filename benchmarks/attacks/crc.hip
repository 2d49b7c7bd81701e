// A checksum of each line, by a table in constant memory.
#include "attack.hpp"
__constant__ unsigned table[256];
// kernel begin
__global__ void crc(const unsigned char* lines, const int* lengths, unsigned* sums, int count, int stride, unsigned seed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  unsigned sum = seed;
  for (int k = 0; k < lengths[i]; ++k) sum = table[(sum ^ lines[i * stride + k]) & 255] ^ sum >> 8;
  sums[i] = ~sum;
}
// kernel end
int main() {
  unsigned host[256];
  for (unsigned i = 0; i < 256; ++i) {
    unsigned c = i;
    for (int k = 0; k < 8; ++k) c = c & 1 ? c >> 1 ^ 0xedb88320u : c >> 1;
    host[i] = c;
  }
  (void)hipMemcpyToSymbol(HIP_SYMBOL(table), host, sizeof host);
  const int count = 200, stride = 40;
  unsigned* sums = zeros<unsigned>(count);
  crc<<<2, 128>>>(upto<unsigned char>(count * stride, 256), filled<int>(count, [](int i) { return (int)(bits(i) % 32 + 1); }), sums, count, stride, ~0u);
  return told(sums, count);
}
