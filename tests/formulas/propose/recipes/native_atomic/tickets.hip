// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void tickets(unsigned* next, unsigned* taken, unsigned last, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned mine, now = 0;
  if (i < n) {
    do mine = now;
    while ((now = atomicCAS(next, mine, mine >= last ? 0u : mine + 1u)) != mine);
    taken[i] = mine;
  }
}
