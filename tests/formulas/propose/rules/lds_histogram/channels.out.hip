// facts: {"launches": [[[65536, 1, 1], [256, 1, 1]]], "values": {"Levels": [64, 256]}}
#include <hip/hip_runtime.h>
template <int Levels>
__global__ void k(const uchar4* pixels, const unsigned* hashes, unsigned* red, unsigned* green, unsigned* levels, int n) {
  constexpr unsigned red_in_lds = 200;
  __shared__ unsigned block_red[red_in_lds];
  constexpr unsigned green_in_lds = 256;
  __shared__ unsigned block_green[green_in_lds];
  __shared__ unsigned block_levels[Levels];
  const unsigned thread_in_block = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned threads_of_block = blockDim.x * blockDim.y * blockDim.z;
  for (unsigned b = thread_in_block; b < red_in_lds; b += threads_of_block) block_red[b] = 0;
  for (unsigned b = thread_in_block; b < green_in_lds; b += threads_of_block) block_green[b] = 0;
  for (unsigned b = thread_in_block; b < Levels; b += threads_of_block) block_levels[b] = 0;
  __syncthreads();

  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    int r = pixels[i].x / 2 + pixels[i].y;
    if (r > 199) r = 199;
    if (r >= 0) atomicAdd(&block_red[r], 1u);
    atomicAdd(block_green + (hashes[i] >> 24), 1u);
    atomicAdd(&block_levels[hashes[i] % Levels], 1u);
  }

  // Add what this workgroup counted.
  __syncthreads();
  for (unsigned b = thread_in_block; b < red_in_lds; b += threads_of_block) {
    if (block_red[b] != 0) atomicAdd(&red[b], block_red[b]);
  }
  for (unsigned b = thread_in_block; b < green_in_lds; b += threads_of_block) {
    if (block_green[b] != 0) atomicAdd(&green[b], block_green[b]);
  }
  for (unsigned b = thread_in_block; b < Levels; b += threads_of_block) {
    if (block_levels[b] != 0) atomicAdd(&levels[b], block_levels[b]);
  }
}
template __global__ void k<64>(const uchar4*, const unsigned*, unsigned*, unsigned*, unsigned*, int);
