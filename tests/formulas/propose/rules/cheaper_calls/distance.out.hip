// facts: {"launches": [[[16, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>

static __device__ float squared(float x) { return x * x; }

static __device__ float to_three_halves(float x) { return x * sqrtf(x); }

static __device__ float cubed(float x) { return x * x * x; }

__global__ void distances(const float* xs, const float* ys, float* weights, float scale, float order, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = xs[i], y = ys[i];
  const float square = squared(x) + squared(y - 0.5f);
  float weight = scale * rsqrtf(square) + (rsqrtf(square + 1.0f));
  weight += exp2f(-square) + to_three_halves(square) + powf(fabsf(x), order) + cubed(y);
  weight *= rsqrtf(x * x + 1.0f);
  weights[i] = weight;
}
