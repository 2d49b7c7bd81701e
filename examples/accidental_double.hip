// Evaluates a logistic curve for every element. The data is float, but the literals are double, so the compiler has
// to compute in double precision, division included.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void logistic(const float* in, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float value = in[i];
  for (int step = 0; step < 8; ++step) {
    value = 1.0 / (1.0 + value * value * 0.37) + 0.1 * value;  // hipscope: expect precision
  }
  out[i] = value;
}

static void check(hipError_t status) {
  if (status == hipSuccess) return;
  std::fprintf(stderr, "HIP error: %s\n", hipGetErrorString(status));
  std::exit(1);
}

int main() {
  const int count = 2000003;
  std::vector<float> in(count), out(count);
  for (int i = 0; i < count; ++i) in[i] = static_cast<float>(i % 2001 - 1000) * 0.01f;

  float *device_in, *device_out;
  check(hipMalloc(&device_in, count * sizeof(float)));
  check(hipMalloc(&device_out, count * sizeof(float)));
  check(hipMemcpy(device_in, in.data(), count * sizeof(float), hipMemcpyHostToDevice));

  logistic<<<(count + 255) / 256, 256>>>(device_in, device_out, count);
  check(hipGetLastError());
  check(hipMemcpy(out.data(), device_out, count * sizeof(float), hipMemcpyDeviceToHost));
  check(hipFree(device_in));
  check(hipFree(device_out));

  int wrong = 0;
  for (int i = 0; i < count; ++i) {
    double value = in[i];
    for (int step = 0; step < 8; ++step) value = 1.0 / (1.0 + value * value * 0.37) + 0.1 * value;
    wrong += !(std::fabs(out[i] - value) <= 1e-4);
  }
  std::printf("%s: %d of %d elements wrong\n", wrong == 0 ? "PASS" : "FAIL", wrong, count);
  return wrong == 0 ? 0 : 1;
}
