// Evaluates a polynomial for every element, in 76 workgroups that loop over the data: three of four CUs of the device
// get no workgroup at all.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void polynomial(const float* in, float* out, int count) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += gridDim.x * blockDim.x) {
    const float x = in[i];
    float value = 0.5f;
#pragma unroll 16
    for (int power = 0; power < 256; ++power) value = value * x + 0.25f;
    out[i] = value;
  }
}

static void check(hipError_t status) {
  if (status == hipSuccess) return;
  std::fprintf(stderr, "HIP error: %s\n", hipGetErrorString(status));
  std::exit(1);
}

int main() {
  const int count = 300007;
  std::vector<float> in(count), out(count);
  for (int i = 0; i < count; ++i) in[i] = static_cast<float>(i % 1999 - 999) * 0.001f;

  float *device_in, *device_out;
  check(hipMalloc(&device_in, count * sizeof(float)));
  check(hipMalloc(&device_out, count * sizeof(float)));
  check(hipMemcpy(device_in, in.data(), count * sizeof(float), hipMemcpyHostToDevice));

  polynomial<<<76, 1024>>>(device_in, device_out, count);  // hipscope: expect launchConfig
  check(hipGetLastError());
  check(hipMemcpy(out.data(), device_out, count * sizeof(float), hipMemcpyDeviceToHost));
  check(hipFree(device_in));
  check(hipFree(device_out));

  int wrong = 0;
  for (int i = 0; i < count; ++i) {
    float value = 0.5f;
    for (int power = 0; power < 256; ++power) value = value * in[i] + 0.25f;
    wrong += !(std::fabs(out[i] - value) <= 1e-3f * (1.0f + std::fabs(value)));
  }
  std::printf("%s: %d of %d elements wrong\n", wrong == 0 ? "PASS" : "FAIL", wrong, count);
  return wrong == 0 ? 0 : 1;
}
