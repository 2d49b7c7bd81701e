// A volume becomes twice as large along each side, by the nearest element, with a batch along z.
#include "attack.hpp"
// kernel begin
__global__ void upsample(const __half* in, __half* out, int w, int h, int batch, float gain) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int b = blockIdx.z;
  if (x >= 2 * w || y >= 2 * h) return;
  for (int k = b; k < batch; k += gridDim.z) {
    const float value = __half2float(in[((size_t)k * h + y / 2) * w + x / 2]);
    out[((size_t)k * 2 * h + y) * 2 * w + x] = __float2half(value * gain);
  }
}
// kernel end
int main() {
  const int w = 20, h = 12, batch = 6;
  auto* in = filled<__half>(w * h * batch, [](int i) { return __float2half(number(i)); });
  auto* out = filled<__half>(4 * w * h * batch, [](int) { return __float2half(0.0f); });
  upsample<<<dim3(2, 3, 3), dim3(32, 8)>>>(in, out, w, h, batch, 0.5f);
  return told(out, 4 * w * h * batch);
}
