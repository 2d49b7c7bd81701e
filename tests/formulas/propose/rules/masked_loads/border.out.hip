// facts: {"launches": [[[4096, 1, 1], [256, 1, 1], {}, {"in": 16384, "weights": 64}]]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, const float* weights, float* out, int n, int reach) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
  int count = 0;
  for (int d = -reach; d <= reach; ++d) {
    const bool inside = i + d >= 0 && i + d < n;
    const float weight = weights[inside ? d + reach : 0];
    const float in_value = in[inside ? i + d : 0];
    const float next_sum = sum + (in_value * weight);
    sum = inside ? next_sum : sum;
    count = inside ? count + 1 : count;
  }
  float best = in[i];
  for (int j = 0; j < reach; ++j) {
    const float weights_value = weights[j];
    const bool inside2 = weights_value < 0.5f;
    const float in_value2 = in[!inside2 ? j : 0];
    const bool inside3 = !inside2 && (in_value2 > best);
    best = inside3 ? in_value2 : best;
    const bool outside = !inside2 && !inside3;
    count = outside ? count + 1 : count;
  }
  out[i] = sum * best + count;
}
