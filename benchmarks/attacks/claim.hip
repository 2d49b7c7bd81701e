// Each work-item claims a slot of a table by the key's hash; who comes first with a key writes its value once, others count.
#include "attack.hpp"
// kernel begin
__global__ void claim(const unsigned* keys, unsigned* owners, unsigned* counts, unsigned* ready, unsigned* missed, int n, unsigned slots) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || slots == 0) return;
  const unsigned key = keys[i], slot = key % slots;
  const unsigned was = atomicCAS(owners + slot, 0u, slot + 1);
  atomicAdd(counts + slot, key / slots + 1);
  __threadfence();
  if (was == 0) atomicExch(ready + slot, 1u);
  else if (atomicAdd(counts + slot, 0u) == 0) atomicAdd(missed, 1u);
}
// kernel end
int main() {
  const int n = 600, slots = 64;
  auto* counts = zeros<unsigned>(slots);
  claim<<<10, 64>>>(upto<unsigned>(n, 5000), zeros<unsigned>(slots), counts, zeros<unsigned>(slots), zeros<unsigned>(1), n, slots);
  return told(counts, slots);
}
