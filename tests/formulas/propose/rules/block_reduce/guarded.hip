// facts: {}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* sum, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicAdd(sum, in[i]);
}
