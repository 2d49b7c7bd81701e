// facts: {"launches": [[[1024, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void row_sums(float* sums, const float* in, int width) {
  float sum = 0.0f;
  for (int i = threadIdx.x; i < width; i += blockDim.x) sum += in[blockIdx.x * width + i];
  for (int mask = 32; mask > 0; mask >>= 1) sum += __shfl_xor(sum, mask);
  if (threadIdx.x % 64 == 0) atomicAdd(&sums[blockIdx.x], sum);
}
