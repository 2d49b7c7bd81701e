// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void tickets(unsigned* next, unsigned* taken, unsigned last, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned mine;
  if (i < n) {
    mine = atomicInc(next, last);
    taken[i] = mine;
  }
}
