// facts: {"launches": [[[16, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>

[[maybe_unused]] static __device__ void sine_and_cosine(float x, float* sine, float* cosine) { sincosf(x, sine, cosine); }
[[maybe_unused]] static __device__ void sine_and_cosine(double x, double* sine, double* cosine) { sincos(x, sine, cosine); }

template <typename T>
__global__ void twiddle(const T* angles, T* sines, T* cosines, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const T phi = angles[i];
  decltype(sin(phi)) sin_phi, cos_phi;
  sine_and_cosine(phi, &sin_phi, &cos_phi);
  sines[i] = sin_phi;
  cosines[i] = cos_phi;
}
template __global__ void twiddle<float>(const float*, float*, float*, int);
