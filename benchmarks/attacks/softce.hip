// Gradient of a cross entropy with smoothed labels, one workgroup for each row; rows whose label is ignored have none.
#include "attack.hpp"
// kernel begin
__global__ void softce(const float* logits, const int* labels, float* grad, int classes, int ignored, float smooth, float scale) {
  __shared__ float part[128];
  const float* row = logits + (size_t)blockIdx.x * classes;
  float* out = grad + (size_t)blockIdx.x * classes;
  const int label = labels[blockIdx.x], t = threadIdx.x;
  if (label == ignored) {
    for (int i = t; i < classes; i += 128) out[i] = 0.0f;
    return;
  }
  float top = -INFINITY;
  for (int i = t; i < classes; i += 128) top = fmaxf(top, row[i]);
  part[t] = top;
  __syncthreads();
  for (int s = 64; s > 0; s /= 2) {
    if (t < s) part[t] = fmaxf(part[t], part[t + s]);
    __syncthreads();
  }
  top = part[0];
  __syncthreads();
  float sum = 0.0f;
  for (int i = t; i < classes; i += 128) sum += expf(row[i] - top);
  part[t] = sum;
  __syncthreads();
  for (int s = 64; s > 0; s /= 2) {
    if (t < s) part[t] += part[t + s];
    __syncthreads();
  }
  sum = part[0];
  for (int i = t; i < classes; i += 128) {
    const float wanted = (i == label ? 1.0f - smooth : 0.0f) + smooth / classes;
    out[i] = scale * (expf(row[i] - top) / sum - wanted);
  }
}
// kernel end
int main() {
  const int rows = 20, classes = 200;
  float* grad = zeros<float>(rows * classes);
  auto* labels = filled<int>(rows, [](int i) { return i % 7 == 3 ? -100 : (int)(bits(i) % 200); });
  softce<<<rows, 128>>>(numbers(rows * classes), labels, grad, classes, -100, 0.1f, 0.05f);
  return told(grad, rows * classes);
}
