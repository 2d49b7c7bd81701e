// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void highest(long long* best, long long* before, const long long* score, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  atomicMax(&best[i & 7], score[i]);
}
