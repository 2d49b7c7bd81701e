// A filter over half numbers, with zeros outside.
#include "attack.hpp"
// kernel begin
__global__ void conv(const __half* in, const float* taps, __half* out, int n, int radius) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
  for (int k = -radius; k <= radius; ++k)
    if (i + k >= 0 && i + k < n) sum += taps[k + radius] * __half2float(in[i + k]);
  out[i] = __float2half(sum);
}
// kernel end
int main() {
  const int n = 3000, radius = 3;
  auto* in = filled<__half>(n, [](int i) { return __float2half(number(i) / 8); });
  auto* out = filled<__half>(n, [](int i) { return __float2half(0.0f); });
  conv<<<24, 128>>>(in, numbers(2 * radius + 1), out, n, radius);
  return told(out, n);
}
