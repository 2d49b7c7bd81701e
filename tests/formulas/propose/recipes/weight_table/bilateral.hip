// facts: {"launches": [[[4096, 1, 1], [256, 1, 1], {"n": 4096, "width": 64, "r": 3}, {}]]}
#include <hip/hip_runtime.h>

__global__ void bilateral(const float* in, float* out, int n, int width, int r, float sigma) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const float scale = 1.0f / (2.0f * sigma * sigma);
  if (i >= n) return;
  float sum = 0.0f, norm = 0.0f;
  for (int dy = -r; dy <= r; dy++)
    for (int dx = 0; dx < r; dx++) {
      const int at = min(max(i + dy * width + dx, 0), n - 1);
      float far = sqrtf(dx * dx + dy * dy), near = in[at] - in[i];
      const float distance = dx * dx + dy * dy;
      const float weight = exp(-distance * scale) * expf(-near * near);
      sum += weight * in[at] + far;
      norm += weight;
    }
  out[i] = sum / norm;
}
