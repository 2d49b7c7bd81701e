// facts: {"launches": [[[4096, 1, 1], [256, 1, 1], {}, {"a": 16384, "b": 16384}]]}
#include <hip/hip_runtime.h>

__global__ void energy(float* out, const float* a, const float* b, int n, int m) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  if (i < n) {
    const float first = a[i];
    const float again = a[i];
    const float scaled = 2.0f * b[i];
    float last = b[i + m];
    sum = first * again + scaled + a[i] - last;
  }
  out[i] = sum;
}
