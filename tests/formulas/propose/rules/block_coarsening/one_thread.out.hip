// facts: {"launches": [[[262144, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void k(const unsigned* in, unsigned* total, unsigned* most) {
  // The first workgroups do the work of up to 8; the others have none.
  const unsigned working_blocks = (gridDim.x + 7) / 8;
  if (blockIdx.x >= working_blocks) return;
  unsigned block_sum = 0u;
  unsigned block_value_2 = 0u;
  for (unsigned block = blockIdx.x; block < gridDim.x; block += working_blocks) {
    __shared__ unsigned size;
    const int i = block * blockDim.x + threadIdx.x;
    if (threadIdx.x == 0) size = 0;
    __syncthreads();
    atomicAdd(&size, in[i] & 15u);
    __syncthreads();
    if (threadIdx.x == blockDim.x - 1) {
      block_sum += size;
      block_value_2 = max(block_value_2, static_cast<unsigned>(size + block));
    }
    __syncthreads();  // the next share uses the LDS again
  }

  // Combine within each wave, then over the waves of the workgroup: one atomic is left.
  const unsigned thread_in_block = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned threads_of_block = blockDim.x * blockDim.y * blockDim.z;
  for (unsigned offset = warpSize / 2; offset > 0; offset /= 2) {
    const unsigned other_1 = __shfl_down(block_sum, offset);
    if (thread_in_block + offset < threads_of_block) block_sum += other_1;
    const unsigned other_2 = __shfl_down(block_value_2, offset);
    if (thread_in_block + offset < threads_of_block) block_value_2 = max(block_value_2, other_2);
  }
  // By wave: 1024 threads at most, in waves of 32 or more.
  __shared__ unsigned wave_sums[32];
  __shared__ unsigned wave_values_2[32];
  if (thread_in_block % warpSize == 0) {
    wave_sums[thread_in_block / warpSize] = block_sum;
    wave_values_2[thread_in_block / warpSize] = block_value_2;
  }
  __syncthreads();
  if (thread_in_block == 0) {
    for (unsigned wave = 1; wave * warpSize < threads_of_block; ++wave) {
      block_sum += wave_sums[wave];
      block_value_2 = max(block_value_2, wave_values_2[wave]);
    }
    if (block_sum != 0) atomicAdd(total, block_sum);
    if (block_value_2 != 0u) atomicMax(most, block_value_2);
  }
}
