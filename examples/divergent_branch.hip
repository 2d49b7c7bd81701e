// Lets pieces of two metals cool down. The pieces come mixed, and each metal has a loop of its own: a wave goes through
// both, each time with half of its lanes.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

enum Metal : int { kCopper, kSteel };
constexpr int kSteps = 48;
constexpr float kAmbient = 293.0f;
constexpr float kCopperLoss = 0.0117f, kSteelLoss = 0.0043f;
constexpr float kCopperGlow = 3.1e-13f, kSteelGlow = 9.5e-13f;

__global__ void cool(const int* metal, const float* start, float* end, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float t = start[i];
  if (metal[i] == kCopper) {  // hipscope: expect branchDivergence
    for (int step = 0; step < kSteps; ++step) {
      t -= kCopperLoss * (t - kAmbient) + kCopperGlow * (t * t) * (t * t);
    }
  } else {
    for (int step = 0; step < kSteps; ++step) {
      t -= kSteelLoss * (t - kAmbient) + kSteelGlow * (t * t) * (t * t);
    }
  }
  end[i] = t;
}

static void check(hipError_t status) {
  if (status == hipSuccess) return;
  std::fprintf(stderr, "HIP error: %s\n", hipGetErrorString(status));
  std::exit(1);
}

int main() {
  const int count = 1000003;
  std::vector<int> metal(count);
  std::vector<float> start(count), end(count);
  for (int i = 0; i < count; ++i) {
    metal[i] = i * 7 % 3 == 0 ? kSteel : kCopper;
    start[i] = 400.0f + static_cast<float>(i % 1009);
  }

  int* device_metal;
  float *device_start, *device_end;
  check(hipMalloc(&device_metal, count * sizeof(int)));
  check(hipMalloc(&device_start, count * sizeof(float)));
  check(hipMalloc(&device_end, count * sizeof(float)));
  check(hipMemcpy(device_metal, metal.data(), count * sizeof(int), hipMemcpyHostToDevice));
  check(hipMemcpy(device_start, start.data(), count * sizeof(float), hipMemcpyHostToDevice));

  cool<<<(count + 255) / 256, 256>>>(device_metal, device_start, device_end, count);
  check(hipGetLastError());
  check(hipMemcpy(end.data(), device_end, count * sizeof(float), hipMemcpyDeviceToHost));
  check(hipFree(device_metal));
  check(hipFree(device_start));
  check(hipFree(device_end));

  int wrong = 0;
  for (int i = 0; i < count; ++i) {
    const float loss = metal[i] == kCopper ? kCopperLoss : kSteelLoss;
    const float glow = metal[i] == kCopper ? kCopperGlow : kSteelGlow;
    float t = start[i];
    for (int step = 0; step < kSteps; ++step) t -= loss * (t - kAmbient) + glow * (t * t) * (t * t);
    wrong += !(std::fabs(end[i] - t) <= 1e-4f * t);
  }
  std::printf("%s: %d of %d pieces wrong\n", wrong == 0 ? "PASS" : "FAIL", wrong, count);
  return wrong == 0 ? 0 : 1;
}
