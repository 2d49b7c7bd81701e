// Counts what is out of range, prints each, and stops at negative numbers.
#include "attack.hpp"
#include <cassert>
// kernel begin
__global__ void check(const int* values, int n, int most, int* bad) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  assert(values[i] >= 0);
  if (values[i] > most) {
    printf("value %d at %d\n", values[i], i);
    atomicAdd(bad, 1);
  }
}
// kernel end
int main() {
  int* bad = zeros<int>(1);
  check<<<4, 64>>>(upto<int>(200, 1000), 200, 990, bad);
  return told(bad, 1);
}
