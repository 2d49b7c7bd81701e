// Softmax of rows, one workgroup each.
#include "attack.hpp"
// kernel begin
__global__ void rowmax(const float* in, float* out, int cols) {
  __shared__ float part[256];
  const float* row = in + (size_t)blockIdx.x * cols;
  float top = -INFINITY;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) top = fmaxf(top, row[i]);
  part[threadIdx.x] = top;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + s]);
    __syncthreads();
  }
  top = part[0];
  __syncthreads();
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += expf(row[i] - top);
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  for (int i = threadIdx.x; i < cols; i += blockDim.x) out[(size_t)blockIdx.x * cols + i] = expf(row[i] - top) / part[0];
}
// kernel end
int main() {
  const int rows = 20, cols = 300;
  float* out = zeros<float>(rows * cols);
  rowmax<<<rows, 256>>>(numbers(rows * cols), out, cols);
  return told(out, rows * cols);
}
