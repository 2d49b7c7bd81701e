// facts: {"member_pointers": {"t.sum": "int", "t.in": "int"}}
#include <hip/hip_runtime.h>
struct Totals {
  int* sum;
  const int* in;
  int n;
};
__global__ void k(Totals t) {
  int block_sum = 0;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (!(i >= t.n)) {
    block_sum += static_cast<int>(t.in[i]);
  }

  // Add up within each wave, then over the waves of the workgroup: one atomic is left.
  const unsigned thread_in_block = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned threads_of_block = blockDim.x * blockDim.y * blockDim.z;
  for (unsigned offset = warpSize / 2; offset > 0; offset /= 2) {
    const int other = __shfl_down(block_sum, offset);
    if (thread_in_block + offset < threads_of_block) block_sum += other;
  }
  // By wave: 1024 threads at most, in waves of 32 or more.
  __shared__ int wave_sums[32];
  if (thread_in_block % warpSize == 0) {
    wave_sums[thread_in_block / warpSize] = block_sum;
  }
  __syncthreads();
  if (thread_in_block == 0) {
    for (unsigned wave = 1; wave * warpSize < threads_of_block; ++wave) {
      block_sum += wave_sums[wave];
    }
    if (block_sum != 0) atomicAdd(&t.sum[0], block_sum);
  }
}
