// facts: {"launches": [[[4096, 1, 1], [256, 1, 1], {"nx": 64, "ny": 64}]]}
#include <hip/hip_runtime.h>

__constant__ int cx[3] = {0, 1, -1};

__global__ void k(const float* in, float* out, int nx, int ny) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int x = i % nx, y = i / nx;
  float sum = 0;
  for (int q = 0; q < 3; q++) {
    const int from = (x - cx[q] + nx) % nx;
    const int below = (y + cx[q] + ny) % ny;
    sum += in[below * nx + from];
  }
  out[i] = sum + in[(i % ny + ny) % ny];
}
