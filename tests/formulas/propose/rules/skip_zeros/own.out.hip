// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void k(const int* in, unsigned* bins, unsigned weight, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned more = in[i] >> 8;
  if (in[i] > 3)
    {
      if (more != 0) atomicAdd(&bins[1], more);
    }
  else
    {
      if (weight != 0) atomicAdd(&bins[2], weight);
    }
  if (weight != 0) atomicAdd(&bins[in[i] & 255], weight);
  const auto amount = in[i] & 1u;
  if (amount != 0) atomicAdd(&bins[3], amount);
}
