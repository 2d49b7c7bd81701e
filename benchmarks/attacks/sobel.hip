// Edges of a grey image with a threshold: strength and one of four directions; the border is repeated outwards.
#include "attack.hpp"
// kernel begin
__global__ void sobel(const unsigned char* in, unsigned char* strength, unsigned char* direction, int w, int h, int pitch, int least) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  const int left = max(x - 1, 0), right = min(x + 1, w - 1), up = max(y - 1, 0) * pitch, down = min(y + 1, h - 1) * pitch, here = y * pitch;
  const int gx = in[up + right] + 2 * in[here + right] + in[down + right] - in[up + left] - 2 * in[here + left] - in[down + left];
  const int gy = in[down + left] + 2 * in[down + x] + in[down + right] - in[up + left] - 2 * in[up + x] - in[up + right];
  const int size = abs(gx) + abs(gy);
  int way = 0;
  if (5 * abs(gy) < 2 * abs(gx)) way = 0;
  else if (2 * abs(gy) > 5 * abs(gx)) way = 2;
  else way = (gx < 0) == (gy < 0) ? 1 : 3;
  strength[here + x] = size < least ? 0 : min(size, 255);
  direction[here + x] = size < least ? 4 : way;
}
// kernel end
int main() {
  const int w = 60, h = 40, pitch = 64;
  auto *strength = zeros<unsigned char>(pitch * h), *direction = zeros<unsigned char>(pitch * h);
  sobel<<<dim3(4, 5), dim3(16, 8)>>>(upto<unsigned char>(pitch * h, 200), strength, direction, w, h, pitch, 90);
  return told(strength, pitch * h) + told(direction, pitch * h);
}
