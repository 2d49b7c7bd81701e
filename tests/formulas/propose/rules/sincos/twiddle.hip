// facts: {"launches": [[[16, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>

template <typename T>
__global__ void twiddle(const T* angles, T* sines, T* cosines, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const T phi = angles[i];
  sines[i] = sin(phi);
  cosines[i] = cos(phi);
}
template __global__ void twiddle<float>(const float*, float*, float*, int);
