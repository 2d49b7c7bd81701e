// facts: {"launches": [[[32768, 1, 1], [256, 1, 1], {"size": 100000}]]}
#include <hip/hip_runtime.h>

__global__ void k(const float* image, unsigned size, float* peaks, unsigned* places) {
  __shared__ float peak[256];
  __shared__ unsigned place[256];
  float best = 0.0f;
  unsigned at = 0;
  for (unsigned i = blockIdx.x * blockDim.x + threadIdx.x; i < size; i += gridDim.x * blockDim.x) {
    if (fabsf(image[i]) > fabsf(best)) {
      best = image[i];
      at = i;
    }
  }
  peak[threadIdx.x] = best;
  place[threadIdx.x] = at;
  __syncthreads();
  // The first wave looks through what one thread would look through alone; of equals the first one counts.
  float wave_best = 0.0f;
  unsigned wave_at = 0;
  if (threadIdx.x < warpSize) {
    const int per_lane = (256 + warpSize - 1) / warpSize;
    const int begin = threadIdx.x * per_lane;
    for (int t = begin; t < 256 && t < begin + per_lane; ++t) {
      if (fabsf(peak[t]) > fabsf(wave_best)) {
        wave_best = peak[t];
        wave_at = place[t];
      }
    }
    for (int offset = 1; offset < warpSize; offset *= 2) {
      const float other_best = __shfl_down(wave_best, offset);
      const unsigned other_at = __shfl_down(wave_at, offset);
      if (fabsf(other_best) > fabsf(wave_best)) {
        wave_best = other_best;
        wave_at = other_at;
      }
    }
  }
  if (threadIdx.x == 0) {
    best = wave_best;
    at = wave_at;
    peaks[blockIdx.x] = best;
    places[blockIdx.x] = at;
  }
}
