// facts: {"launches": [[[65536, 1, 1], [256, 1, 1]]], "disjoint": ["in", "bins"]}
#include <hip/hip_runtime.h>
__global__ void k(const int* in, unsigned* bins, int n) {
  __shared__ int most[4];
  if (threadIdx.x < 4) most[threadIdx.x] = 0;
  __syncthreads();
  unsigned loop_sum = 0u;
  int loop_value = -0x7fffffff - 1;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    if (in[i] < 0) continue;
    loop_sum += 1u;
    for (int k = 0; k < 3; ++k) loop_value = max(loop_value, static_cast<int>(in[i] >> k));
  }
  if (loop_sum != 0) atomicAdd(&bins[threadIdx.x], loop_sum);
  if (loop_value != -0x7fffffff - 1) atomicMax(most + (threadIdx.x & 3), loop_value);
  __syncthreads();
  if (threadIdx.x < 4) atomicMax((int*)&bins[1024 + threadIdx.x], most[threadIdx.x]);
}
