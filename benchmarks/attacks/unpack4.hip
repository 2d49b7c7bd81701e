// Groups of 4-bit numbers to floats by a zero point and a scale for each group.
#include "attack.hpp"
// kernel begin
__global__ void unpack4(const unsigned* packed, const float* scales, const unsigned char* zero, float* out, int n, int group) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int q = packed[i / 8] >> i % 8 * 4 & 15;
  const int g = i / group;
  out[i] = (q - zero[g]) * scales[g];
}
// kernel end
int main() {
  const int n = 4000, group = 32;
  float* out = zeros<float>(n);
  unpack4<<<32, 128>>>(filled<unsigned>(n / 8, [](int i) { return bits(i); }), numbers(n / group), upto<unsigned char>(n / group, 16), out, n, group);
  return told(out, n);
}
