// Luma and halved chroma to packed RGBA, rounded and saturated.
#include "attack.hpp"
// kernel begin
__global__ void yuv(const unsigned char* luma, const unsigned char* blue, const unsigned char* red, unsigned* rgba, int w, int h, int pitch, int offset) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  const int half = y / 2 * (pitch / 2) + x / 2;
  const int c = 298 * (luma[y * pitch + x] - offset), d = blue[half] - 128, e = red[half] - 128;
  const int r = (c + 409 * e + 128) >> 8, g = (c - 100 * d - 208 * e + 128) >> 8, b = (c + 516 * d + 128) >> 8;
  const unsigned rr = min(max(r, 0), 255), gg = min(max(g, 0), 255), bb = min(max(b, 0), 255);
  rgba[y * w + x] = rr | gg << 8 | bb << 16 | 0xff000000u;
}
// kernel end
int main() {
  const int w = 50, h = 30, pitch = 64;
  auto* rgba = zeros<unsigned>(w * h);
  yuv<<<dim3(4, 4), dim3(16, 8)>>>(upto<unsigned char>(pitch * h, 256), upto<unsigned char>(pitch / 2 * h, 256), upto<unsigned char>(pitch / 2 * h, 256), rgba, w, h, pitch, 16);
  return told(rgba, w * h);
}
