// Layer norm of rows in two passes, one workgroup each.
#include "attack.hpp"
// kernel begin
__global__ void layernorm(const float* in, const float* gamma, const float* beta, float* out, int cols, float eps) {
  __shared__ float part[256];
  const float* row = in + (size_t)blockIdx.x * cols;
  float sum = 0.0f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) sum += row[i];
  part[threadIdx.x] = sum;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  const float mean = part[0] / cols;
  __syncthreads();
  float squares = 0.0f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) squares += (row[i] - mean) * (row[i] - mean);
  part[threadIdx.x] = squares;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  const float scale = 1.0f / sqrtf(part[0] / cols + eps);
  for (int i = threadIdx.x; i < cols; i += blockDim.x)
    out[(size_t)blockIdx.x * cols + i] = (row[i] - mean) * scale * gamma[i] + beta[i];
}
// kernel end
int main() {
  const int rows = 18, cols = 320;
  float* out = zeros<float>(rows * cols);
  layernorm<<<rows, 128>>>(numbers(rows * cols), numbers(cols), numbers(cols), out, cols, 1e-5f);
  return told(out, rows * cols);
}
