// facts: {}
#include <hip/hip_runtime.h>
__global__ void k(const int* in, int* largest, unsigned* smallest, unsigned* bits, unsigned* common, int n) {
  int block_value = -0x7fffffff - 1;
  unsigned block_value_2 = ~0u;
  unsigned block_value_3 = 0u;
  unsigned block_value_4 = ~0u;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    const int x = in[i];
    block_value = max(block_value, x);
    block_value_2 = min(block_value_2, static_cast<unsigned>(x & 0xffff));
    block_value_3 |= static_cast<unsigned>(1u << (x & 31));
    block_value_4 &= static_cast<unsigned>(static_cast<unsigned>(x));
  }

  // Combine within each wave, then over the waves of the workgroup: one atomic is left.
  const unsigned thread_in_block = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned threads_of_block = blockDim.x * blockDim.y * blockDim.z;
  for (unsigned offset = warpSize / 2; offset > 0; offset /= 2) {
    const int other_1 = __shfl_down(block_value, offset);
    if (thread_in_block + offset < threads_of_block) block_value = max(block_value, other_1);
    const unsigned other_2 = __shfl_down(block_value_2, offset);
    if (thread_in_block + offset < threads_of_block) block_value_2 = min(block_value_2, other_2);
    const unsigned other_3 = __shfl_down(block_value_3, offset);
    if (thread_in_block + offset < threads_of_block) block_value_3 |= other_3;
    const unsigned other_4 = __shfl_down(block_value_4, offset);
    if (thread_in_block + offset < threads_of_block) block_value_4 &= other_4;
  }
  // By wave: 1024 threads at most, in waves of 32 or more.
  __shared__ int wave_values[32];
  __shared__ unsigned wave_values_2[32];
  __shared__ unsigned wave_values_3[32];
  __shared__ unsigned wave_values_4[32];
  if (thread_in_block % warpSize == 0) {
    wave_values[thread_in_block / warpSize] = block_value;
    wave_values_2[thread_in_block / warpSize] = block_value_2;
    wave_values_3[thread_in_block / warpSize] = block_value_3;
    wave_values_4[thread_in_block / warpSize] = block_value_4;
  }
  __syncthreads();
  if (thread_in_block == 0) {
    for (unsigned wave = 1; wave * warpSize < threads_of_block; ++wave) {
      block_value = max(block_value, wave_values[wave]);
      block_value_2 = min(block_value_2, wave_values_2[wave]);
      block_value_3 |= wave_values_3[wave];
      block_value_4 &= wave_values_4[wave];
    }
    if (block_value != -0x7fffffff - 1) atomicMax(largest, block_value);
    if (block_value_2 != ~0u) atomicMin(smallest, block_value_2);
    if (block_value_3 != 0u) atomicOr(bits, block_value_3);
    if (block_value_4 != ~0u) atomicAnd(&common[0], block_value_4);
  }
}
