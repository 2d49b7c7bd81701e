// facts: {"launches": [[[4096, 1, 1], [256, 1, 1], {}, {"h.bins": 1024}]], "member_pointers": {"h.bins": "unsigned int", "h.in": "unsigned char"}}
#include <hip/hip_runtime.h>
struct Histogram {
  unsigned int* bins;
  const unsigned char* in;
  int n;
};
__global__ void k(Histogram h) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < h.n) atomicAdd(&h.bins[h.in[i]], 1u);
}
