// Keys are looked up in a hash table with open addresses; 0 is an empty place.
#include "attack.hpp"
// kernel begin
__global__ void lookup(const uint64_t* table, const int* values, unsigned mask, const uint64_t* keys, int* found, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const uint64_t key = keys[i];
  unsigned at = (unsigned)(key * 0x9e3779b97f4a7c15ull >> 40) & mask;
  int value = -1;
  for (unsigned tries = 0; tries <= mask; ++tries) {
    const uint64_t there = table[at];
    if (there == key) {
      value = values[at];
      break;
    }
    if (there == 0) break;
    at = (at + 1) & mask;
  }
  found[i] = value;
}
// kernel end
int main() {
  const unsigned mask = 1023;
  std::vector<uint64_t> table(mask + 1, 0);
  const int n = 600;
  for (int i = 0; i < n; ++i) {
    const uint64_t key = bits(i) + 1ull;
    unsigned at = (unsigned)(key * 0x9e3779b97f4a7c15ull >> 40) & mask;
    while (table[at]) at = (at + 1) & mask;
    table[at] = key;
  }
  uint64_t* device = filled<uint64_t>(mask + 1, [&](int i) { return table[i]; });
  uint64_t* keys = filled<uint64_t>(2 * n, [](int i) { return bits(i) + 1ull; });
  int* found = zeros<int>(2 * n);
  lookup<<<10, 128>>>(device, upto<int>(mask + 1, 1000), mask, keys, found, 2 * n);
  return told(found, 2 * n);
}
