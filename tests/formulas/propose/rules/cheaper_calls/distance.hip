// facts: {"launches": [[[16, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>

__global__ void distances(const float* xs, const float* ys, float* weights, float scale, float order, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = xs[i], y = ys[i];
  const float square = powf(x, 2.0f) + powf(y - 0.5f, 2.f);
  float weight = scale / sqrtf(square) + 1.0f / (sqrtf(square + 1.0f));
  weight += powf(2.0f, -square) + powf(square, 1.5f) + powf(fabsf(x), order) + powf(y, 3.0f);
  weight /= sqrtf(x * x + 1.0f);
  weights[i] = weight;
}
