// facts: {"launches": [[[262144, 1, 1], [256, 1, 1], {}, {}]]}
#include <hip/hip_runtime.h>

__global__ void histogram(unsigned* bins, const unsigned char* in, float* sum, int n) {
  // The first workgroups do the work of up to 8; the others have none.
  const unsigned working_blocks = (gridDim.x + 7) / 8;
  if (blockIdx.x >= working_blocks) return;
  __shared__ unsigned own[256];
  own[threadIdx.x] = 0;
  __syncthreads();
  const int first = blockIdx.x * blockDim.x + threadIdx.x;
  const int stride = blockDim.x * working_blocks;
  for (int i = first; i < n; i += stride) atomicAdd(&own[in[i]], 1u);
  __syncthreads();
  atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
  float total = 0;
  int i = first;
  while (i < n) {
    total += in[i];
    i += working_blocks * blockDim.x;
  }
  atomicAdd(sum, total);
}
