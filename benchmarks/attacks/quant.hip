// Rows of floats to signed bytes with a scale for each row.
#include "attack.hpp"
// kernel begin
__global__ void quant(const float* in, signed char* out, float* scales, int cols) {
  __shared__ float part[1024];
  const size_t row = blockIdx.x;
  float most = 0.0f;
  for (int i = threadIdx.x; i < cols; i += blockDim.x) most = fmaxf(most, fabsf(in[row * cols + i]));
  part[threadIdx.x] = most;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) part[threadIdx.x] = fmaxf(part[threadIdx.x], part[threadIdx.x + s]);
    __syncthreads();
  }
  const float scale = part[0] / 127.0f;
  if (threadIdx.x == 0) scales[row] = scale;
  for (int i = threadIdx.x; i < cols; i += blockDim.x)
    out[row * cols + i] = scale == 0.0f ? 0 : (signed char)rintf(in[row * cols + i] / scale);
}
// kernel end
int main() {
  const int rows = 12, cols = 200;
  auto* out = zeros<signed char>(rows * cols);
  float* scales = zeros<float>(rows);
  quant<<<rows, 128>>>(numbers(rows * cols), out, scales, cols);
  return told(out, rows * cols) + told(scales, rows);
}
