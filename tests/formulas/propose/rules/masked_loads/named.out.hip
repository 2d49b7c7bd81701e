// facts: {"launches": [[[4096, 1, 1], [256, 1, 1], {}, {"a": 16384, "b": 16384}]]}
#include <hip/hip_runtime.h>

__global__ void energy(float* out, const float* a, const float* b, int n, int m) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float sum = 0.0f;
  {
    const bool inside = i < n;
    const float first = a[inside ? i : 0];
    const float again = first;
    const float b_value = b[inside ? i : 0];
    const float scaled = 2.0f * b_value;
    const float b_value2 = b[inside ? i + m : 0];
    float last = b_value2;
    const float next_sum = first * again + scaled + first - last;
    sum = inside ? next_sum : sum;
  }
  out[i] = sum;
}
