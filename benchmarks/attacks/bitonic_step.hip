// One step of a bitonic sort of signed keys with values.
#include "attack.hpp"
// kernel begin
__global__ void bitonic_step(long long* keys, int* values, int n, int j, int k) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int other = i ^ j;
  if (i >= n || other <= i || other >= n) return;
  const bool up = (i & k) == 0;
  if ((keys[i] > keys[other]) == up) {
    const long long key = keys[i];
    keys[i] = keys[other];
    keys[other] = key;
    const int value = values[i];
    values[i] = values[other];
    values[other] = value;
  }
}
// kernel end
int main() {
  const int n = 512;
  long long* keys = filled<long long>(n, [](int i) { return (long long)bits(i) - (1ll << 31); });
  int* values = upto<int>(n, 10000);
  for (int k = 2; k <= n; k *= 2)
    for (int j = k / 2; j > 0; j /= 2) bitonic_step<<<4, 128>>>(keys, values, n, j, k);
  return told(keys, n) + told(values, n);
}
