// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void k(const int* in, unsigned* bins, unsigned weight, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned more = in[i] >> 8;
  if (in[i] > 3)
    atomicAdd(&bins[1], more);
  else
    atomicAdd(&bins[2], weight);
  atomicAdd(&bins[in[i] & 255], weight);
  atomicAdd(&bins[3], in[i] & 1u);
}
