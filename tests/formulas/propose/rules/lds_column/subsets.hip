// facts: {"launches": [[[1024, 1, 1], [64, 1, 1], {"n": 1024}, {}]]}
#include <hip/hip_runtime.h>

// How many subsets of a thread's six numbers add up to its goal: a stack for each of two things.
__global__ void subsets(const int* in, const int* goal, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int sum[8], next[8] = {}, depth = 0, found = 0;
  sum[0] = 0;
  while (depth >= 0) {
    const int k = next[depth];
    if (k == 6) {
      found += sum[depth] == goal[i];
      --depth;
      continue;
    }
    next[depth] = k + 1;
    sum[depth + 1] = sum[depth] + in[i * 6 + k];
    next[depth + 1] = k + 1;
    ++depth;
  }
  out[i] = found;
}
