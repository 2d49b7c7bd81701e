// facts: {"member_pointers": {"t.sum": "int", "t.in": "int"}}
#include <hip/hip_runtime.h>
struct Totals {
  int* sum;
  const int* in;
  int n;
};
__global__ void k(Totals t) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= t.n) return;
  atomicAdd(&t.sum[0], t.in[i]);
}
