// Values are added to the places that a list names, with a weight.
#include "attack.hpp"
// kernel begin
__global__ void scatter(const int* places, const int* values, int* sums, int n, int weight, int base) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n && places[i] >= base) atomicAdd(&sums[places[i] - base], values[i] * weight);
}
// kernel end
int main() {
  const int n = 1000, places = 100;
  int* sums = zeros<int>(places);
  scatter<<<8, 128>>>(upto<int>(n, places), upto<int>(n, 50), sums, n, 3, 0);
  return told(sums, places);
}
