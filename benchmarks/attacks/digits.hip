// Numbers are split into a quotient, a remainder and the place of the highest bit.
#include "attack.hpp"
// kernel begin
__global__ void digits(const int* in, int* quotient, int* rest, int* highest, int n, int by) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int v = in[i];
  quotient[i] = v / by;
  rest[i] = v % by;
  highest[i] = v ? 31 - __clz(v) : -1;
}
// kernel end
int main() {
  const int n = 1000;
  int *q = zeros<int>(n), *r = zeros<int>(n), *h = zeros<int>(n);
  digits<<<8, 128>>>(upto<int>(n, 100000), q, r, h, n, 8);
  return told(q, n) + told(r, n) + told(h, n);
}
