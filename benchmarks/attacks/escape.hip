// How many steps points of the plane take to escape.
#include "attack.hpp"
// kernel begin
__global__ void escape(int* steps, int width, int height, double x0, double y0, double size, int most) {
  const int px = blockIdx.x * blockDim.x + threadIdx.x;
  const int py = blockIdx.y * blockDim.y + threadIdx.y;
  if (px >= width || py >= height) return;
  const double cx = x0 + px * size, cy = y0 + py * size;
  double x = 0.0, y = 0.0;
  int n = 0;
  while (n < most && x * x + y * y <= 4.0) {
    const double t = x * x - y * y + cx;
    y = 2.0 * x * y + cy;
    x = t;
    ++n;
  }
  steps[py * width + px] = n;
}
// kernel end
int main() {
  const int width = 48, height = 32;
  int* steps = zeros<int>(width * height);
  escape<<<dim3(3, 4), dim3(16, 8)>>>(steps, width, height, -2.0, -1.0, 0.06, 60);
  return told(steps, width * height);
}
