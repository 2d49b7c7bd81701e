// A stage of a transform of n complex numbers: pairs `half` apart, factors from a table of n / 2.
#include "attack.hpp"
// kernel begin
__global__ void butterfly(float2* data, const float2* factors, int half, int n, int inverse) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (half < 1 || i >= n / 2) return;
  const int group = i / half, k = i % half;
  const int top = group * 2 * half + k, bottom = top + half;
  float2 w = factors[k * (n / 2 / half)];
  if (inverse) w.y = -w.y;
  const float2 a = data[top], b = data[bottom];
  const float2 t = make_float2(w.x * b.x - w.y * b.y, w.x * b.y + w.y * b.x);
  data[top] = make_float2(a.x + t.x, a.y + t.y);
  data[bottom] = make_float2(a.x - t.x, a.y - t.y);
}
// kernel end
int main() {
  const int n = 2048, half = 32;
  const float2* factors = filled<float2>(n / 2, [](int i) { return float2{cosf(i * 3.14159265f / 1024), -sinf(i * 3.14159265f / 1024)}; });
  float2* data = filled<float2>(n, [](int i) { return float2{number(2 * i), number(2 * i + 1)}; });
  butterfly<<<8, 128>>>(data, factors, half, n, 0);
  return told(data, n);
}
