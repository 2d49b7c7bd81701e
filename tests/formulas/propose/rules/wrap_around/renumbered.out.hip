// facts: {"launches": [[[4096, 1, 1], [256, 1, 1], {"width": 64}]]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int width) {
  const unsigned xcd = blockIdx.x % 8, rank = blockIdx.x / 8;
  const unsigned groups_per_xcd = gridDim.x / 8, rest = gridDim.x % 8;
  const unsigned group = xcd * groups_per_xcd + (xcd < rest ? xcd : rest) + rank;
  const int i = group * blockDim.x + threadIdx.x;
  const int x = i % width;
  int next = i - x;
  next += 1 + x < width ? 1 + x : 0;
  out[i] = in[next];
}
