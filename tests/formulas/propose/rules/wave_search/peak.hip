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
  if (threadIdx.x == 0) {
    best = 0.0f, at = 0;
    for (int t = 0; t < 256; ++t) {
      if (fabsf(peak[t]) > fabsf(best)) {
        best = peak[t];
        at = place[t];
      }
    }
    peaks[blockIdx.x] = best;
    places[blockIdx.x] = at;
  }
}
