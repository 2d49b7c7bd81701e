// facts: {"launches": [[[256, 256, 1], [32, 8, 1], {"w": 256, "h": 256}, {}]]}
#include <hip/hip_runtime.h>

#define CELL(g, x, y) g[((y + h) % h) * w + (x + w) % w]
#define PLAIN(g, x, y) g[(y) * w + (x)]

__global__ void life(const unsigned char* src, unsigned char* dst, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  int alive = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++)
      if (dx != 0 || dy != 0) alive += CELL(src, x + dx, y + dy);
  PLAIN(dst, x, y) = alive == 3 || (alive == 2 && CELL(src, x, y));
}
