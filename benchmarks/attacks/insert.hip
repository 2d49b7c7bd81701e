// Keys go into a hash table with open addresses, each once; counts of each.
#include "attack.hpp"
// kernel begin
__global__ void insert(const unsigned* keys, int n, unsigned* table, unsigned* counts, unsigned mask) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const unsigned key = keys[i];
  unsigned at = key * 2654435761u >> 7 & mask;
  for (;;) {
    const unsigned old = atomicCAS(&table[at], 0xffffffffu, key);
    if (old == 0xffffffffu || old == key) break;
    at = (at + 1) & mask;
  }
  atomicAdd(&counts[key & 15], 1u);
}
// kernel end
int main() {
  const unsigned mask = 2047;
  auto* table = filled<unsigned>(mask + 1, [](int) { return 0xffffffffu; });
  unsigned* counts = zeros<unsigned>(16);
  insert<<<8, 128>>>(filled<unsigned>(900, [](int i) { return bits(i / 2) >> 1; }), 900, table, counts, mask);
  return told(counts, 16);
}
