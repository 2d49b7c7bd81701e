// Tridiagonal systems, one work-item each, interleaved.
#include "attack.hpp"
// kernel begin
__global__ void thomas(const float* lower, const float* mid, const float* upper, const float* right, float* c, float* x, int n, int systems) {
  const int s = blockIdx.x * blockDim.x + threadIdx.x;
  if (s >= systems || n < 1) return;
  float pivot = mid[s], cc = upper[s] / pivot, d = right[s] / pivot;
  c[s] = cc;
  x[s] = d;
  for (int i = 1; i < n; ++i) {
    const int at = i * systems + s;
    pivot = mid[at] - lower[at] * cc;
    cc = upper[at] / pivot;
    d = (right[at] - lower[at] * d) / pivot;
    c[at] = cc;
    x[at] = d;
  }
  for (int i = n - 2; i >= 0; --i) {
    const int at = i * systems + s;
    d = x[at] - c[at] * d;
    x[at] = d;
  }
}
// kernel end
int main() {
  const int n = 40, systems = 100, all = n * systems;
  float* x = zeros<float>(all);
  auto* mid = filled<float>(all, [](int i) { return 25.0f + number(i) / 4; });
  thomas<<<2, 64>>>(numbers(all), mid, numbers(all), numbers(all), zeros<float>(all), x, n, systems);
  return told(x, all);
}
