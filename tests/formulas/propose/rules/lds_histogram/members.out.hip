// facts: {"launches": [[[4096, 1, 1], [256, 1, 1], {}, {"h.bins": 1024}]], "member_pointers": {"h.bins": "unsigned int", "h.in": "unsigned char"}}
#include <hip/hip_runtime.h>
struct Histogram {
  unsigned int* bins;
  const unsigned char* in;
  int n;
};
__global__ void k(Histogram h) {
  constexpr unsigned bins_in_lds = 256;
  __shared__ unsigned int block_h_bins[bins_in_lds];
  const unsigned thread_in_block = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned threads_of_block = blockDim.x * blockDim.y * blockDim.z;
  for (unsigned b = thread_in_block; b < bins_in_lds; b += threads_of_block) block_h_bins[b] = 0;
  __syncthreads();

  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < h.n) atomicAdd(&block_h_bins[h.in[i]], 1u);

  // Add what this workgroup counted.
  __syncthreads();
  for (unsigned b = thread_in_block; b < bins_in_lds; b += threads_of_block) {
    if (block_h_bins[b] != 0) atomicAdd(&h.bins[b], block_h_bins[b]);
  }
}
