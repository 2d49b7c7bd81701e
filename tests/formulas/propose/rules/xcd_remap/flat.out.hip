// facts: {"launches": [[[65536, 1, 1], [256, 1, 1]]], "xcds": 8}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int n) {
  // Workgroups are dealt round-robin to 8 XCDs: neighbours are to share the L2 of one.
  const unsigned xcd = blockIdx.x % 8, rank = blockIdx.x / 8;
  const unsigned groups_per_xcd = gridDim.x / 8, rest = gridDim.x % 8;
  const unsigned group = xcd * groups_per_xcd + (xcd < rest ? xcd : rest) + rank;
  const int i = group * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}
