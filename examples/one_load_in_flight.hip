// Adds up the columns of a matrix, one column per work-item. Each step of the loop loads one element and adds it before
// the next load starts, so every wave waits for memory at every step, while memory itself has little to do.
#include <hip/hip_runtime.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <vector>

__global__ void column_sums(const float* matrix, float* sums, int rows, int columns) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  float sum = 0.0f;
#pragma unroll 1
  for (int row = 0; row < rows; ++row) {
    sum += matrix[row * columns + column];  // hipscope: expect latencyHiding
  }
  sums[column] = sum;
}

static void check(hipError_t status) {
  if (status == hipSuccess) return;
  std::fprintf(stderr, "HIP error: %s\n", hipGetErrorString(status));
  std::exit(1);
}

int main() {
  const int rows = 96, columns = 80000;
  std::vector<float> matrix(static_cast<std::size_t>(rows) * columns), sums(columns);
  for (std::size_t i = 0; i < matrix.size(); ++i) matrix[i] = static_cast<float>(i % 17) - 8.0f;

  float *device_matrix, *device_sums;
  check(hipMalloc(&device_matrix, matrix.size() * sizeof(float)));
  check(hipMalloc(&device_sums, columns * sizeof(float)));
  check(hipMemcpy(device_matrix, matrix.data(), matrix.size() * sizeof(float), hipMemcpyHostToDevice));

  column_sums<<<(columns + 255) / 256, 256>>>(device_matrix, device_sums, rows, columns);
  check(hipGetLastError());
  check(hipMemcpy(sums.data(), device_sums, columns * sizeof(float), hipMemcpyDeviceToHost));
  check(hipFree(device_matrix));
  check(hipFree(device_sums));

  int wrong = 0;
  for (int column = 0; column < columns; ++column) {
    float sum = 0.0f;
    for (int row = 0; row < rows; ++row) sum += matrix[static_cast<std::size_t>(row) * columns + column];
    wrong += !(std::fabs(sums[column] - sum) <= 1e-3f);
  }
  std::printf("%s: %d of %d sums wrong\n", wrong == 0 ? "PASS" : "FAIL", wrong, columns);
  return wrong == 0 ? 0 : 1;
}
