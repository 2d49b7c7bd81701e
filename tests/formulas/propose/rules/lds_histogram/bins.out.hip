// facts: {"launches": [[[65536, 1, 1], [256, 1, 1], {}, {"bins": 256}]]}
#include <hip/hip_runtime.h>
__global__ void k(const int* in, int* bins, int n) {
  constexpr unsigned bins_in_lds = 64;
  __shared__ int block_bins[bins_in_lds];
  const unsigned thread_in_block = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned threads_of_block = blockDim.x * blockDim.y * blockDim.z;
  for (unsigned b = thread_in_block; b < bins_in_lds; b += threads_of_block) block_bins[b] = 0;
  __syncthreads();

  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) atomicAdd(&block_bins[in[i] & 63], 1);

  // Add what this workgroup counted.
  __syncthreads();
  for (unsigned b = thread_in_block; b < bins_in_lds; b += threads_of_block) {
    if (block_bins[b] != 0) atomicAdd(&bins[b], block_bins[b]);
  }
}
