// facts: {"launches": [[[16, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>

static __device__ float to_the_twelfth(float x) { const float y = x * x; return (y * y * y) * (y * y * y); }

static __device__ float to_the_sixth(float x) { const float y = x * x; return y * y * y; }

static __device__ float to_the_fifth(float x) { const float y = x * x; return y * y * x; }

__global__ void energies(const float* distances, float* energies, float* damping, float sigma, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float r = sigma / distances[i];
  energies[i] = 4.0f * (to_the_twelfth(r) - to_the_sixth(r));
  damping[i] = to_the_fifth(damping[i] - 1.0f);
}
