// A function given by points, linear between them, constant outside.
#include "attack.hpp"
// kernel begin
__global__ void table1d(const float* xs, const float* ys, int points, const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || points < 1) return;
  const float v = in[i];
  if (!(v > xs[0])) {
    out[i] = ys[0];
    return;
  }
  int low = 0, high = points;
  while (high - low > 1) {
    const int mid = (low + high) / 2;
    if (xs[mid] <= v) low = mid;
    else high = mid;
  }
  out[i] = high == points ? ys[low] : ys[low] + (v - xs[low]) / (xs[high] - xs[low]) * (ys[high] - ys[low]);
}
// kernel end
int main() {
  const int n = 900, points = 41;
  float* out = zeros<float>(n);
  float* xs = filled<float>(points, [](int i) { return i * 0.4f - 8.0f; });
  table1d<<<8, 128>>>(xs, numbers(points), points, numbers(n), out, n);
  return told(out, n);
}
