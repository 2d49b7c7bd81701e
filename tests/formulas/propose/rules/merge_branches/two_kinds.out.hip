// facts: {}
#include <hip/hip_runtime.h>
constexpr float kWarmLoss = 0.5f, kColdLoss = 0.25f;
__global__ void k(const int* kind, float* out, int n, float hot, float cold) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float t = 1.0f;
  const bool first_way = kind[i] == 1;
  const float loss = first_way ? kWarmLoss : kColdLoss;
  const float chosen = first_way ? hot : cold;
  const float chosen2 = first_way ? 2.0f : 4.0f;
  // warm
  // A loop of its own.
  for (int step = 0; step < 9; ++step) {
    t -= loss * (t - (chosen + 1.0f));
  }
  t += chosen2;
  out[i] = t;
}
