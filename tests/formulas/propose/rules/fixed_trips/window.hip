// facts: {"launches": [[[4096, 1, 1], [256, 1, 1], {"width": 4096, "reach": 2}]]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int width, int reach) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x < reach || x >= width - reach) return;
  float sum = 0.0f;
  int tap = 0;
  for (int at = x - reach; at <= x + reach; ++at, tap++) {
    sum += in[at] * tap;
  }
  for (int at = x; at < (x + reach); ++at) {
    if (in[at] < sum) break;
    sum += in[at];
  }
  out[x] = sum;
}
