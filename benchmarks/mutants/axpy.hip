// One element per thread, a guard, no LDS.
#include "harness.hpp"

__global__ void axpy(const float* x, float* y, float a, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = a * x[i] + y[i];
}

int main() {
  const int n = 2000;
  const auto x = numbers<float>(n, 1), y = numbers<float>(n, 2);
  float *dx = upload(x), *dy = upload(y);
  axpy<<<(n + 127) / 128, 128>>>(dx, dy, 3.0f, n);
  check(hipDeviceSynchronize());
  const auto r = download(dy, n);
  bool ok = true;
  for (int i = 0; i < n; ++i) ok = ok && r[i] == 3.0f * x[i] + y[i];
  return verdict(ok);
}
