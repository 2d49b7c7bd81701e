// The largest of each window, strided, padded with -infinity; NaN wins.
#include "attack.hpp"
// kernel begin
__global__ void pool(const float* in, float* out, int w, int h, int ow, int oh, int size, int stride, int pad) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= ow || y >= oh) return;
  float most = -INFINITY;
  for (int dy = 0; dy < size; ++dy)
    for (int dx = 0; dx < size; ++dx) {
      const int px = x * stride - pad + dx, py = y * stride - pad + dy;
      if (px < 0 || py < 0 || px >= w || py >= h) continue;
      const float v = in[py * w + px];
      if (v > most || v != v) most = v;
    }
  out[y * ow + x] = most;
}
// kernel end
int main() {
  const int w = 64, h = 48, size = 3, stride = 2, pad = 1, ow = 32, oh = 24;
  float* out = zeros<float>(ow * oh);
  pool<<<dim3(2, 3), dim3(16, 8)>>>(numbers(w * h), out, w, h, ow, oh, size, stride, pad);
  return told(out, ow * oh);
}
