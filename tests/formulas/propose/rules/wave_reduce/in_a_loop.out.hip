// facts: {"launches": [[[65536, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void k(const int* in, int* out, int n) {
  __shared__ int size;
  if (blockIdx.x > gridDim.x / 2) return;
  for (int block = blockIdx.x; block < n; block += gridDim.x) {
    if (threadIdx.x == 0) size = 0;
    __syncthreads();
    int wave_sum = 0;
    if (in[block * blockDim.x + threadIdx.x] > 3) wave_sum += 1;
    {
      const unsigned thread_in_block = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
      const unsigned threads_of_block = blockDim.x * blockDim.y * blockDim.z;
      for (unsigned offset = warpSize / 2; offset > 0; offset /= 2) {
        const int other = __shfl_down(wave_sum, offset);
        if (thread_in_block + offset < threads_of_block) wave_sum += other;
      }
      if (thread_in_block % warpSize == 0) {
        if (wave_sum != 0) atomicAdd(&size, wave_sum);
      }
    }
    __syncthreads();
    if (threadIdx.x == 0) out[block] = size;
    __syncthreads();
  }
}
