// Follows 12 steps of an iteration for every element. Each step divides, and a division that is exact to the last bit
// takes many instructions.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int kSteps = 12;

__global__ void settle(const float* in, float* out, float damping, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float value = in[i];
  for (int step = 0; step < kSteps; ++step) {
    value = (value + 1.0f) / (damping + value * value);  // hipscope: expect precision
  }
  out[i] = value;
}

static void check(hipError_t status) {
  if (status == hipSuccess) return;
  std::fprintf(stderr, "HIP error: %s\n", hipGetErrorString(status));
  std::exit(1);
}

int main() {
  const int count = 1500007;
  const float damping = 3.5f;
  std::vector<float> in(count), out(count);
  for (int i = 0; i < count; ++i) in[i] = static_cast<float>(i % 1009) * 0.002f;

  float *device_in, *device_out;
  check(hipMalloc(&device_in, count * sizeof(float)));
  check(hipMalloc(&device_out, count * sizeof(float)));
  check(hipMemcpy(device_in, in.data(), count * sizeof(float), hipMemcpyHostToDevice));

  settle<<<(count + 255) / 256, 256>>>(device_in, device_out, damping, count);
  check(hipGetLastError());
  check(hipMemcpy(out.data(), device_out, count * sizeof(float), hipMemcpyDeviceToHost));
  check(hipFree(device_in));
  check(hipFree(device_out));

  int wrong = 0;
  for (int i = 0; i < count; ++i) {
    float value = in[i];
    for (int step = 0; step < kSteps; ++step) value = (value + 1.0f) / (damping + value * value);
    wrong += !(std::fabs(out[i] - value) <= 1e-4f);
  }
  std::printf("%s: %d of %d elements wrong\n", wrong == 0 ? "PASS" : "FAIL", wrong, count);
  return wrong == 0 ? 0 : 1;
}
