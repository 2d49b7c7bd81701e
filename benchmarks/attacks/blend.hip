// Pixels of four bytes over others, by their alpha in 255ths, rounded; or added where a flag says so.
#include "attack.hpp"
// kernel begin
__global__ void blend(const uint32_t* over, uint32_t* under, int count, int opacity, int added) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const uint32_t s = over[i], d = under[i];
  const uint32_t alpha = (s >> 24) * opacity / 255;
  uint32_t out = 0;
  for (int k = 0; k < 32; k += 8) {
    const uint32_t a = s >> k & 255u, b = d >> k & 255u;
    uint32_t v;
    if (added) v = min(a * alpha / 255 + b, 255u);
    else v = (a * alpha + b * (255 - alpha) + 127) / 255;
    out |= (v & 255u) << k;
  }
  under[i] = out;
}
// kernel end
int main() {
  const int n = 3000;
  auto* under = filled<uint32_t>(n, [](int i) { return bits(i + 77); });
  blend<<<24, 128>>>(filled<uint32_t>(n, [](int i) { return bits(i); }), under, n, 200, 0);
  return told(under, n);
}
