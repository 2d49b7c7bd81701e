// facts: {"launches": [[[4096, 1, 1], [256, 1, 1], {}, {"in": 16384, "weights": 64}]]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, const float* weights, float* out, int n, int reach) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
  int count = 0;
  for (int d = -reach; d <= reach; ++d)
    if (i + d >= 0 && i + d < n) {
      const float weight = weights[d + reach];
      sum += in[i + d] * weight;
      count++;
    }
  float best = in[i];
  for (int j = 0; j < reach; ++j) {
    if (weights[j] < 0.5f) continue;
    if (in[j] > best)
      best = in[j];
    else
      count += 1;
  }
  out[i] = sum * best + count;
}
