// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void k(const int* keys, const int* table, int* out, int capacity) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const int key = keys[i];
  int place = key % capacity;
  while (table[place] != key && table[place] != 0)
    place = (place + 1) % capacity;
  out[i] = place;
}
