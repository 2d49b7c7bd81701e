// facts: {}
#include <hip/hip_runtime.h>
__global__ void k(const int* in, int* largest, unsigned* smallest, unsigned* bits, unsigned* common, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int x = in[i];
  atomicMax(largest, x);
  atomicMin(smallest, x & 0xffff);
  atomicOr(bits, 1u << (x & 31));
  atomicAnd(&common[0], static_cast<unsigned>(x));
}
