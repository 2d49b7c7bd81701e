// A step of the game of life on a torus.
#include "attack.hpp"
// kernel begin
__global__ void life(const unsigned char* in, unsigned char* out, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  int count = 0;
  for (int dy = -1; dy <= 1; ++dy)
    for (int dx = -1; dx <= 1; ++dx)
      if (dx || dy) count += in[(y + dy + h) % h * w + (x + dx + w) % w];
  out[y * w + x] = count == 3 || (count == 2 && in[y * w + x]);
}
// kernel end
int main() {
  const int w = 64, h = 32;
  auto* out = zeros<unsigned char>(w * h);
  life<<<dim3(4, 4), dim3(16, 8)>>>(upto<unsigned char>(w * h, 2), out, w, h);
  return told(out, w * h);
}
