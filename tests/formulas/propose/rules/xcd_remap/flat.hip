// facts: {"launches": [[[65536, 1, 1], [256, 1, 1]]], "xcds": 8}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}
