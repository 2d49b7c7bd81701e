// facts: {"launches": [[[4096, 1, 1], [256, 1, 1], {"nx": 64, "ny": 64}]]}
#include <hip/hip_runtime.h>

__constant__ int cx[3] = {0, 1, -1};

// `(value + size) % size`, which divides only what lies more than one `size` away.
template <typename T>
static __device__ T wrapped_near(T value, T size) {
  if (size > 0 && size < (1 << 30)) {
    const T near = value < 0 ? value + size : value < size ? value : value - size;
    if (near >= 0 && near < size) return near;
  }
  return (value + size) % size;
}

// `(value % size + size) % size`, which divides only what lies more than one `size` away.
template <typename T>
static __device__ T wrapped(T value, T size) {
  if (size > 0 && size < (1 << 30)) {
    const T near = value < 0 ? value + size : value < size ? value : value - size;
    if (near >= 0 && near < size) return near;
  }
  return (value % size + size) % size;
}

__global__ void k(const float* in, float* out, int nx, int ny) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int x = i % nx, y = i / nx;
  float sum = 0;
  for (int q = 0; q < 3; q++) {
    const int from = wrapped_near(x - cx[q], nx);
    const int below = wrapped_near(y + cx[q], ny);
    sum += in[below * nx + from];
  }
  out[i] = sum + in[wrapped(i, ny)];
}
