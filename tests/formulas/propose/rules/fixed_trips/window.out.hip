// facts: {"launches": [[[4096, 1, 1], [256, 1, 1], {"width": 4096, "reach": 2}]]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int width, int reach) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  if (x < reach || x >= width - reach) return;
  float sum = 0.0f;
  int tap = 0;
  if (reach == 2) {  // the usual length
    #pragma unroll
    for (int at = x - 2, step = 0; step < 5; ++at, tap++, ++step) {
      sum += in[at] * tap;
    }
  } else {
    for (int at = x - reach; at <= x + reach; ++at, tap++) {
      sum += in[at] * tap;
    }
  }
  if (reach == 2) {  // the usual length
    #pragma unroll
    for (int at = x, step = 0; step < 2; ++at, ++step) {
      if (in[at] < sum) break;
      sum += in[at];
    }
  } else {
    for (int at = x; at < (x + reach); ++at) {
      if (in[at] < sum) break;
      sum += in[at];
    }
  }
  out[x] = sum;
}
