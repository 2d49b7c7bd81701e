// The largest number for each key, by compare and swap; NaN is never larger.
#include "attack.hpp"
// kernel begin
__global__ void casmax(const int* keys, const float* values, float* most, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = values[i];
  int* at = reinterpret_cast<int*>(most + keys[i]);
  int old = *at;
  while (v > __int_as_float(old)) {
    const int seen = atomicCAS(at, old, __float_as_int(v));
    if (seen == old) break;
    old = seen;
  }
}
// kernel end
int main() {
  const int n = 3000, keys = 40;
  const float* values = filled<float>(n, [](int i) { return fabsf(number(i)); });
  float* most = zeros<float>(keys);
  casmax<<<12, 256>>>(upto<int>(n, keys), values, most, n);
  return told(most, keys);
}
