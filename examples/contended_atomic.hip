// Adds up the squares of an array, with one atomic addition to the same address per element.
//
// The compiler adds within a wave first, so the memory system sees one atomic per wave. They still queue up, because
// only one of them can change the sum at a time.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void sum_of_squares(const float* values, float* sum, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) {
    const float value = values[i];
    atomicAdd(sum, value * value);  // hipscope: expect atomicContention
  }
}

static void check(hipError_t status) {
  if (status == hipSuccess) return;
  std::fprintf(stderr, "HIP error: %s\n", hipGetErrorString(status));
  std::exit(1);
}

int main() {
  const int count = 3000017;  // not a multiple of the block
  const int block = 256;
  std::vector<float> values(count);
  double expected = 0.0;
  for (int i = 0; i < count; ++i) {
    values[i] = static_cast<float>(i % 3);
    expected += values[i] * values[i];  // small integers: the sum is exact in any order
  }

  float *device_values, *device_sum;
  float sum = 0.0f;
  check(hipMalloc(&device_values, count * sizeof(float)));
  check(hipMalloc(&device_sum, sizeof(float)));
  check(hipMemcpy(device_values, values.data(), count * sizeof(float), hipMemcpyHostToDevice));
  check(hipMemcpy(device_sum, &sum, sizeof(float), hipMemcpyHostToDevice));

  sum_of_squares<<<(count + block - 1) / block, block>>>(device_values, device_sum, count);
  check(hipGetLastError());
  check(hipMemcpy(&sum, device_sum, sizeof(float), hipMemcpyDeviceToHost));
  check(hipFree(device_values));
  check(hipFree(device_sum));

  const bool right = std::fabs(sum - expected) <= 1e-6 * expected;
  std::printf("%s: sum %.1f, expected %.1f\n", right ? "PASS" : "FAIL", sum, expected);
  return right ? 0 : 1;
}
