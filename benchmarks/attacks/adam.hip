// A step of Adam with weight decay in the gradient.
#include "attack.hpp"
// kernel begin
__global__ void adam(float* p, const float* g, float* m, float* v, int n, float lr, float b1, float b2, float eps, float decay, int step) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float grad = g[i] + decay * p[i];
  const float m1 = b1 * m[i] + (1.0f - b1) * grad;
  const float v1 = b2 * v[i] + (1.0f - b2) * grad * grad;
  m[i] = m1;
  v[i] = v1;
  const float mean = m1 / (1.0f - powf(b1, step)), square = v1 / (1.0f - powf(b2, step));
  p[i] -= lr * mean / (sqrtf(square) + eps);
}
// kernel end
int main() {
  const int n = 1500;
  float* p = numbers(n);
  float* m = zeros<float>(n);
  float* v = zeros<float>(n);
  adam<<<12, 128>>>(p, numbers(n), m, v, n, 1e-3f, 0.9f, 0.999f, 1e-8f, 0.0f, 3);
  return told(p, n) + told(m, n) + told(v, n);
}
