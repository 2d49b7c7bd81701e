// facts: {"launches": [[[4096, 1, 1], [256, 1, 1], {"g.nx": 50, "n": 4000}]], "member_numbers": {"g.nx": "int"}, "member_pointers": {"g.out": "int"}}
#include <hip/hip_runtime.h>
struct Grid {
  int* out;
  int nx;
};
__global__ void k(Grid g, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int y = static_cast<unsigned>(i) / static_cast<unsigned>(g.nx);
  const int x = i - y * g.nx;
  g.out[i] = x + 3 * y;
}
