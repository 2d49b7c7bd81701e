// A histogram of 32-bit values in 256 bins.
#include "attack.hpp"
// kernel begin
__global__ void bins(const unsigned* values, int n, unsigned* counts, unsigned shift) {
  const int step = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) atomicAdd(&counts[values[i] >> shift & 255], 1u);
}
// kernel end
int main() {
  const int n = 20000;
  unsigned* counts = zeros<unsigned>(256);
  bins<<<16, 128>>>(upto<unsigned>(n, 1u << 31), n, counts, 8);
  return told(counts, 256);
}
