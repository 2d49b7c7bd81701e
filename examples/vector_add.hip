// Adds two vectors. Limited by memory bandwidth and nothing else: hipscope must not report anything here.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void vector_add(const float* a, const float* b, float* sum, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < count) sum[i] = a[i] + b[i];
}

static void check(hipError_t status) {
  if (status == hipSuccess) return;
  std::fprintf(stderr, "HIP error: %s\n", hipGetErrorString(status));
  std::exit(1);
}

int main() {
  const int count = 4000037;  // not a multiple of the block
  const std::size_t bytes = count * sizeof(float);
  std::vector<float> a(count), b(count), sum(count);
  for (int i = 0; i < count; ++i) {
    a[i] = static_cast<float>(i % 1000);
    b[i] = static_cast<float>(i % 777) * 0.5f;
  }

  float *device_a, *device_b, *device_sum;
  check(hipMalloc(&device_a, bytes));
  check(hipMalloc(&device_b, bytes));
  check(hipMalloc(&device_sum, bytes));
  check(hipMemcpy(device_a, a.data(), bytes, hipMemcpyHostToDevice));
  check(hipMemcpy(device_b, b.data(), bytes, hipMemcpyHostToDevice));

  vector_add<<<(count + 255) / 256, 256>>>(device_a, device_b, device_sum, count);
  check(hipGetLastError());
  check(hipMemcpy(sum.data(), device_sum, bytes, hipMemcpyDeviceToHost));
  check(hipFree(device_a));
  check(hipFree(device_b));
  check(hipFree(device_sum));

  int wrong = 0;
  for (int i = 0; i < count; ++i) wrong += sum[i] != a[i] + b[i];
  std::printf("%s: %d of %d elements wrong\n", wrong == 0 ? "PASS" : "FAIL", wrong, count);
  return wrong == 0 ? 0 : 1;
}
