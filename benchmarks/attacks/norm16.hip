// Layer norm of rows in bfloat16.
#include "attack.hpp"
// kernel begin
__global__ void norm16(const __hip_bfloat16* in, const float* gain, __hip_bfloat16* out, int cols, float eps) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  in += (size_t)row * cols;
  out += (size_t)row * cols;
  float sum = 0.0f, squares = 0.0f;
  for (int i = 0; i < cols; ++i) sum += __bfloat162float(in[i]);
  const float mean = sum / cols;
  for (int i = 0; i < cols; ++i) {
    const float d = __bfloat162float(in[i]) - mean;
    squares += d * d;
  }
  const float scale = rsqrtf(squares / cols + eps);
  for (int i = 0; i < cols; ++i) out[i] = __float2bfloat16((__bfloat162float(in[i]) - mean) * scale * gain[i]);
}
// kernel end
int main() {
  const int rows = 128, cols = 48;
  auto* in = filled<__hip_bfloat16>(rows * cols, [](int i) { return __float2bfloat16(number(i)); });
  auto* out = filled<__hip_bfloat16>(rows * cols, [](int i) { return __float2bfloat16(0.0f); });
  norm16<<<2, 64>>>(in, numbers(cols), out, cols, 1e-5f);
  return told(out, rows * cols);
}
