// facts: {}
#include <hip/hip_runtime.h>
constexpr float kWarmLoss = 0.5f, kColdLoss = 0.25f;
__global__ void k(const int* kind, float* out, int n, float hot, float cold) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float t = 1.0f;
  if (kind[i] == 1) {  // warm
    // A loop of its own.
    for (int step = 0; step < 9; ++step) {
      t -= kWarmLoss * (t - (hot + 1.0f));
    }
    t += 2.0f;
  } else {
    for (int step = 0; step < 9; ++step) {
      t -= kColdLoss * (t - (cold + 1.0f));
    }
    t += 4.0f;
  }
  out[i] = t;
}
