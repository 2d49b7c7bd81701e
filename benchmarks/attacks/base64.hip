// Three bytes become four letters; what is missing at the end is `=`.
#include "attack.hpp"
// kernel begin
__global__ void base64(const unsigned char* in, unsigned char* out, int n, int url) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x, at = 3 * i;
  if (at >= n) return;
  const unsigned b0 = in[at], b1 = at + 1 < n ? in[at + 1] : 0, b2 = at + 2 < n ? in[at + 2] : 0;
  const unsigned all = b0 << 16 | b1 << 8 | b2;
  for (int k = 0; k < 4; ++k) {
    const unsigned c = all >> (18 - 6 * k) & 63;
    unsigned char letter;
    if (c < 26) letter = 'A' + c;
    else if (c < 52) letter = 'a' + (c - 26);
    else if (c < 62) letter = '0' + (c - 52);
    else letter = url ? (c == 62 ? '-' : '_') : (c == 62 ? '+' : '/');
    out[4 * i + k] = at + k - 1 < n || k < 2 ? letter : '=';
  }
}
// kernel end
int main() {
  const int n = 1000;
  auto* out = zeros<unsigned char>((n + 2) / 3 * 4);
  base64<<<3, 128>>>(upto<unsigned char>(n, 256), out, n, 0);
  return told(out, (n + 2) / 3 * 4);
}
