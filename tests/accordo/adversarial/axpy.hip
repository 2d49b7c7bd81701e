// y += a x, with strides, as BLAS has it.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void axpy(int n, float a, const float* x, int incx, float* y, int incy) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i * incy] += a * x[i * incx];
}
// kernel end
int main() {
  const int n = 300;
  axpy<<<5, 64>>>(n, 2.0f, numbers(n), 1, numbers(n), 1);
  return finish();
}
