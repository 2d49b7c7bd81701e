// y = a x + y in halves, computed in single precision.
#include "attack.hpp"
// kernel begin
__global__ void haxpy(const __half* x, __half* y, float a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  y[i] = __float2half(a * __half2float(x[i]) + __half2float(y[i]));
}
// kernel end
int main() {
  const int n = 4096;
  const auto half = [](int i) { return __float2half(number(i)); };
  __half* y = filled<__half>(n, half);
  haxpy<<<16, 256>>>(filled<__half>(n, half), y, 0.5f, n);
  return told(y, n);
}
