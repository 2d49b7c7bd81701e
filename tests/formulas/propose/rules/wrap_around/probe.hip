// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void k(const unsigned* keys, const unsigned* table, unsigned* out, unsigned capacity) {
  const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
  const unsigned key = keys[i];
  unsigned place = key % capacity;
  while (table[place] != key && table[place] != 0)
    place = (place + 1) % capacity;
  out[i] = place;
}
