// Multiplies a small matrix with many vectors, one vector per work-item, all of it held in registers. A workgroup
// may have 1024 work-items by default, which leaves 128 registers for each: the rest is spilled to memory.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

constexpr int kSize = 96;

__global__ void transform(const float* matrix, const float* in, float* out, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  float x[kSize], y[kSize];
#pragma unroll
  for (int k = 0; k < kSize; ++k) {
    x[k] = in[k * count + i];
    y[k] = 0.0f;
  }
#pragma unroll 1
  for (int r = 0; r < kSize; ++r) {
    float sum = 0.0f;
#pragma unroll
    for (int k = 0; k < kSize; ++k) sum += matrix[r * kSize + k] * x[k];  // hipscope: expect registerPressure
#pragma unroll
    for (int k = 0; k < kSize; ++k) y[k] += k == r ? sum : 0.0f;
  }
#pragma unroll
  for (int k = 0; k < kSize; ++k) out[k * count + i] = y[k];
}

static void check(hipError_t status) {
  if (status == hipSuccess) return;
  std::fprintf(stderr, "HIP error: %s\n", hipGetErrorString(status));
  std::exit(1);
}

int main() {
  const int count = 72011;
  std::vector<float> matrix(kSize * kSize), in(kSize * count), out(kSize * count);
  for (int k = 0; k < kSize * kSize; ++k) matrix[k] = static_cast<float>(k % 7 - 3);
  for (int k = 0; k < kSize * count; ++k) in[k] = static_cast<float>(k % 5 - 2);

  float *device_matrix, *device_in, *device_out;
  check(hipMalloc(&device_matrix, matrix.size() * sizeof(float)));
  check(hipMalloc(&device_in, in.size() * sizeof(float)));
  check(hipMalloc(&device_out, out.size() * sizeof(float)));
  check(hipMemcpy(device_matrix, matrix.data(), matrix.size() * sizeof(float), hipMemcpyHostToDevice));
  check(hipMemcpy(device_in, in.data(), in.size() * sizeof(float), hipMemcpyHostToDevice));

  transform<<<(count + 63) / 64, 64>>>(device_matrix, device_in, device_out, count);
  check(hipGetLastError());
  check(hipMemcpy(out.data(), device_out, out.size() * sizeof(float), hipMemcpyDeviceToHost));
  check(hipFree(device_matrix));
  check(hipFree(device_in));
  check(hipFree(device_out));

  int wrong = 0;
  for (int i = 0; i < count; i += 97) {
    for (int r = 0; r < kSize; ++r) {
      float sum = 0.0f;
      for (int k = 0; k < kSize; ++k) sum += matrix[r * kSize + k] * in[k * count + i];
      wrong += !(std::fabs(out[r * count + i] - sum) <= 1e-3f);
    }
  }
  std::printf("%s: %d elements wrong\n", wrong == 0 ? "PASS" : "FAIL", wrong);
  return wrong == 0 ? 0 : 1;
}
