// facts: {"launches": [[[65536, 1, 1], [256, 1, 1], {}, {"bins": 256}]]}
#include <hip/hip_runtime.h>
__global__ void k(const int* in, int* bins, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&bins[in[i] & 63], 1);
}
