// The median of three times three, borders as they are.
#include "attack.hpp"
// kernel begin
__global__ void median(const float* in, float* out, int w, int h) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h) return;
  if (x == 0 || y == 0 || x == w - 1 || y == h - 1) {
    out[y * w + x] = in[y * w + x];
    return;
  }
  float v[9];
  for (int i = 0; i < 9; ++i) v[i] = in[(y + i / 3 - 1) * w + x + i % 3 - 1];
  for (int i = 1; i < 9; ++i) {
    const float one = v[i];
    int k = i;
    for (; k > 0 && v[k - 1] > one; --k) v[k] = v[k - 1];
    v[k] = one;
  }
  out[y * w + x] = v[4];
}
// kernel end
int main() {
  const int w = 45, h = 29;
  float* out = zeros<float>(w * h);
  median<<<dim3(3, 4), dim3(16, 8)>>>(numbers(w * h), out, w, h);
  return told(out, w * h);
}
