// facts: {}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* sum, int n, int steps) {
  float block_sum = 0.0f;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float own = 0.0f;
    #pragma unroll 4
    for (int s = 0; s < steps; ++s) own += in[s * n + i];
#ifdef SCALED
    own *= 0.5f;
#endif
    block_sum += own;
  }

  // Add up within each wave, then over the waves of the workgroup: one atomic is left.
  const unsigned thread_in_block = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned threads_of_block = blockDim.x * blockDim.y * blockDim.z;
  for (unsigned offset = warpSize / 2; offset > 0; offset /= 2) {
    const float other = __shfl_down(block_sum, offset);
    if (thread_in_block + offset < threads_of_block) block_sum += other;
  }
  // By wave: 1024 threads at most, in waves of 32 or more.
  __shared__ float wave_sums[32];
  if (thread_in_block % warpSize == 0) {
    wave_sums[thread_in_block / warpSize] = block_sum;
  }
  __syncthreads();
  if (thread_in_block == 0) {
    for (unsigned wave = 1; wave * warpSize < threads_of_block; ++wave) {
      block_sum += wave_sums[wave];
    }
    if (block_sum != 0) atomicAdd(sum, block_sum);
  }
}
