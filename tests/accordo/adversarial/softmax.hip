// Softmax of each row; a workgroup takes a row.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void softmax(const float* in, float* out, int cols) {
  __shared__ float part[256];
  const float* row = in + blockIdx.x * cols;
  float top = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) top = fmaxf(top, row[i]);
  part[threadIdx.x] = top;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d /= 2) {
    if (threadIdx.x < d) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + d]);
    __syncthreads();
  }
  top = part[0];
  __syncthreads();
  float sum = 0;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += expf(row[i] - top);
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int d = blockDim.x / 2; d > 0; d /= 2) {
    if (threadIdx.x < d) part[threadIdx.x] += part[threadIdx.x + d];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < cols; i += blockDim.x) out[blockIdx.x * cols + i] = expf(row[i] - top) / part[0];
}
// kernel end
int main() {
  const int rows = 6, cols = 150;
  softmax<<<rows, 64>>>(numbers(rows * cols), zeros<float>(rows * cols), cols);
  return finish();
}
