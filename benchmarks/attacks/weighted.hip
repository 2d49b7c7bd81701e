// Weights are added up for each key, in 64 bits.
#include "attack.hpp"
// kernel begin
__global__ void weighted(const uint16_t* keys, const unsigned* weights, unsigned long long* sums, int n, int bins) {
  const int step = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step)
    if (keys[i] < bins) atomicAdd(&sums[keys[i]], (unsigned long long)weights[i]);
}
// kernel end
int main() {
  const int n = 6000, bins = 200;
  auto* sums = zeros<unsigned long long>(bins);
  weighted<<<8, 128>>>(upto<uint16_t>(n, bins), upto<unsigned>(n, 1000), sums, n, bins);
  return told(sums, bins);
}
