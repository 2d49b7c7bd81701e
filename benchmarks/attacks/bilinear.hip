// An image of another size, bilinear, borders repeated.
#include "attack.hpp"
// kernel begin
__global__ void bilinear(const float* in, float* out, int w, int h, int ow, int oh, float sx, float sy) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= ow || y >= oh || w < 1 || h < 1) return;
  const float fx = fminf(fmaxf((x + 0.5f) * sx - 0.5f, 0.0f), w - 1.0f);
  const float fy = fminf(fmaxf((y + 0.5f) * sy - 0.5f, 0.0f), h - 1.0f);
  const int x0 = (int)fx, y0 = (int)fy;
  const int x1 = min(x0 + 1, w - 1), y1 = min(y0 + 1, h - 1);
  const float ax = fx - x0, ay = fy - y0;
  const float above = in[y0 * w + x0] * (1.0f - ax) + in[y0 * w + x1] * ax;
  const float below = in[y1 * w + x0] * (1.0f - ax) + in[y1 * w + x1] * ax;
  out[y * ow + x] = above * (1.0f - ay) + below * ay;
}
// kernel end
int main() {
  const int w = 60, h = 44, ow = 40, oh = 22;
  float* out = zeros<float>(ow * oh);
  bilinear<<<dim3(3, 3), dim3(16, 8)>>>(numbers(w * h), out, w, h, ow, oh, 1.5f, 2.0f);
  return told(out, ow * oh);
}
