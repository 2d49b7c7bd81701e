// facts: {"launches": [[[256, 256, 1], [32, 8, 1], {"w": 256, "h": 256}, {}]]}
#include <hip/hip_runtime.h>

#define CELL(g, x, y) g[((y + h) % h) * w + (x + w) % w]
#define PLAIN(g, x, y) g[(y) * w + (x)]

// `(value + size) % size`, which divides only what lies more than one `size` away.
template <typename T>
static __device__ T wrapped_near(T value, T size) {
  if (size > 0 && size < (1 << 30)) {
    const T near = value < 0 ? value + size : value < size ? value : value - size;
    if (near >= 0 && near < size) return near;
  }
  return (value + size) % size;
}

__global__ void life(const unsigned char* src, unsigned char* dst, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  int alive = 0;
  for (int dy = -1; dy <= 1; dy++)
    for (int dx = -1; dx <= 1; dx++)
      if (dx != 0 || dy != 0) alive += src[wrapped_near(y + dy, h) * w + wrapped_near(x + dx, w)];
  PLAIN(dst, x, y) = alive == 3 || (alive == 2 && src[wrapped_near(y, h) * w + wrapped_near(x, w)]);
}
