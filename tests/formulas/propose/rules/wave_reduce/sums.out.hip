// facts: {"launches": [[[65536, 1, 1], [200, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int n) {
  __shared__ float sum;
  __shared__ unsigned flags, most[2];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (threadIdx.x < 2) most[threadIdx.x] = 0u;
  if (threadIdx.x == 0) sum = flags = 0;
  __syncthreads();
  float wave_sum = static_cast<float>(in[i] * 2);
  {
    const unsigned thread_in_block = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const unsigned threads_of_block = blockDim.x * blockDim.y * blockDim.z;
    for (unsigned offset = warpSize / 2; offset > 0; offset /= 2) {
      const float other = __shfl_down(wave_sum, offset);
      if (thread_in_block + offset < threads_of_block) wave_sum += other;
    }
    if (thread_in_block % warpSize == 0) {
      if (wave_sum != 0) atomicAdd(&sum, wave_sum);
    }
  }
  unsigned wave_sum_2 = 0u;
  unsigned wave_sum_3 = 0u;
  for (int j = i; j < n; j += 1024) {
    if (in[j] < 0.0f) continue;
    wave_sum_2 |= static_cast<unsigned>(1u << (j & 31));
    wave_sum_3 = max(wave_sum_3, static_cast<unsigned>((unsigned)j));
  }
  {
    const unsigned thread_in_block = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
    const unsigned threads_of_block = blockDim.x * blockDim.y * blockDim.z;
    for (unsigned offset = warpSize / 2; offset > 0; offset /= 2) {
      const unsigned other_1 = __shfl_down(wave_sum_2, offset);
      if (thread_in_block + offset < threads_of_block) wave_sum_2 |= other_1;
      const unsigned other_2 = __shfl_down(wave_sum_3, offset);
      if (thread_in_block + offset < threads_of_block) wave_sum_3 = max(wave_sum_3, other_2);
    }
    if (thread_in_block % warpSize == 0) {
      if (wave_sum_2 != 0u) atomicOr(&flags, wave_sum_2);
      if (wave_sum_3 != 0u) atomicMax(&most[1], wave_sum_3);
    }
  }
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sum + flags + most[0] + most[1];
}
