// For each block of one image the place in another, within a range, where it differs least; the first of equals.
#include "attack.hpp"
// kernel begin
__global__ void sad(const unsigned char* now, const unsigned char* before, int2* moved, int w, int h, int block, int range) {
  const int bx = blockIdx.x * blockDim.x + threadIdx.x, by = blockIdx.y * blockDim.y + threadIdx.y;
  const int across = w / block, down = h / block;
  if (bx >= across || by >= down) return;
  unsigned least = 0xffffffffu;
  int2 best = make_int2(0, 0);
  for (int dy = -range; dy <= range; ++dy)
    for (int dx = -range; dx <= range; ++dx) {
      const int x0 = bx * block + dx, y0 = by * block + dy;
      if (x0 < 0 || y0 < 0 || x0 + block > w || y0 + block > h) continue;
      unsigned sum = 0;
      for (int y = 0; y < block; ++y)
        for (int x = 0; x < block; ++x) {
          const int a = now[(by * block + y) * w + bx * block + x], b = before[(y0 + y) * w + x0 + x];
          sum += (a - b) * (a - b);
        }
      if (sum < least) {
        least = sum;
        best = make_int2(dx, dy);
      }
    }
  moved[by * across + bx] = best;
}
// kernel end
int main() {
  const int w = 64, h = 48, block = 8;
  auto* moved = zeros<int2>(w / block * (h / block));
  sad<<<dim3(1, 2), dim3(8, 4)>>>(upto<unsigned char>(w * h, 256), upto<unsigned char>(w * h, 199), moved, w, h, block, 3);
  return told(moved, w / block * (h / block));
}
