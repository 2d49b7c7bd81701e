// facts: {"launches": [[[65536, 1, 1], [128, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void moments(const double* in, double* out, int n) {
  __shared__ double4 sums;
  __shared__ int2 sizes;
  __shared__ int most;
  if (threadIdx.x == 0) {
    sums = make_double4(0, 0, 0, 0);
    sizes = make_int2(0, 0);
    most = 0;
  }
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const double x = in[i];
  // Powers of x.
  double wave_sum = x;
  double wave_sum_2 = x * x;
  double wave_sum_3 = x * x * x;
  {
    const unsigned thread_in_block = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const unsigned threads_of_block = blockDim.x * blockDim.y * blockDim.z;
    for (unsigned offset = warpSize / 2; offset > 0; offset /= 2) {
      const double other_1 = __shfl_down(wave_sum, offset);
      if (thread_in_block + offset < threads_of_block) wave_sum += other_1;
      const double other_2 = __shfl_down(wave_sum_2, offset);
      if (thread_in_block + offset < threads_of_block) wave_sum_2 += other_2;
      const double other_3 = __shfl_down(wave_sum_3, offset);
      if (thread_in_block + offset < threads_of_block) wave_sum_3 += other_3;
    }
    if (thread_in_block % warpSize == 0) {
      if (wave_sum != 0) atomicAdd(&sums.x, wave_sum);
      if (wave_sum_2 != 0) atomicAdd(&sums.y, wave_sum_2);
      if (wave_sum_3 != 0) atomicAdd(&sums.z, wave_sum_3);
    }
  }
  int wave_sum_4 = 0;
  if (n > 7) {
    for (int k = 0; k < n; ++k) {
      if (in[i + k] > x) wave_sum_4 += 1;
    }
  }
  {
    const unsigned thread_in_block = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const unsigned threads_of_block = blockDim.x * blockDim.y * blockDim.z;
    for (unsigned offset = warpSize / 2; offset > 0; offset /= 2) {
      const int other = __shfl_down(wave_sum_4, offset);
      if (thread_in_block + offset < threads_of_block) wave_sum_4 += other;
    }
    if (thread_in_block % warpSize == 0) {
      if (wave_sum_4 != 0) atomicAdd(&sizes.y, wave_sum_4);
    }
  }
  __syncthreads();
  int wave_sum_5 = static_cast<int>(sizes.y + i);
  {
    const unsigned thread_in_block = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const unsigned threads_of_block = blockDim.x * blockDim.y * blockDim.z;
    for (unsigned offset = warpSize / 2; offset > 0; offset /= 2) {
      const int other = __shfl_down(wave_sum_5, offset);
      if (thread_in_block + offset < threads_of_block) wave_sum_5 = max(wave_sum_5, other);
    }
    if (thread_in_block % warpSize == 0) {
      if (wave_sum_5 != -0x7fffffff - 1) atomicMax(&most, wave_sum_5);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums.x + sums.y * sums.z + most;
}
