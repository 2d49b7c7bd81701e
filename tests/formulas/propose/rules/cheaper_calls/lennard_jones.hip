// facts: {"launches": [[[16, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>

__global__ void energies(const float* distances, float* energies, float* damping, float sigma, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float r = sigma / distances[i];
  energies[i] = 4.0f * (powf(r, 12.0f) - powf(r, 6.0f));
  damping[i] = powf((damping[i] - 1.0f), 5.0f);
}
