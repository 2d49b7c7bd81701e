// Numbers of `width` bits each packed into words, one word for each work-item.
#include "attack.hpp"
// kernel begin
__global__ void bitpack(const unsigned* in, unsigned* out, int n, int words, int width) {
  const int word = blockIdx.x * blockDim.x + threadIdx.x;
  if (word >= words || width < 1 || width > 32) return;
  const unsigned mask = width == 32 ? 0xffffffffu : (1u << width) - 1u;
  const long long first = (long long)word * 32, end = first + 32;
  unsigned packed = 0;
  for (long long k = first / width; k * width < end && k < n; ++k) {
    const long long shift = k * width - first;
    const unsigned value = in[k] & mask;
    packed |= shift >= 0 ? value << shift : value >> -shift;
  }
  out[word] = packed;
}
// kernel end
int main() {
  const int n = 4000, width = 8, words = n * width / 32;
  unsigned* out = zeros<unsigned>(words);
  bitpack<<<8, 128>>>(upto<unsigned>(n, 256), out, n, words, width);
  return told(out, words);
}
