// facts: {"launches": [[[1024, 1, 1], [64, 1, 1], {"n": 1024}, {}]]}
#include <hip/hip_runtime.h>

// How many subsets of a thread's six numbers add up to its goal: a stack for each of two things.
__global__ __launch_bounds__(64) void subsets(const int* in, const int* goal, int* out, int n) {
  const unsigned thread_in_block = threadIdx.x;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __shared__ int sum[8][64];
  __shared__ int next[8][64];
  for (int row = 0; row < 8; ++row) next[row][thread_in_block] = 0;
  int depth = 0, found = 0;
  sum[0][thread_in_block] = 0;
  while (depth >= 0) {
    const int k = next[depth][thread_in_block];
    if (k == 6) {
      found += sum[depth][thread_in_block] == goal[i];
      --depth;
      continue;
    }
    if (static_cast<unsigned>(depth) < 8u) next[depth][thread_in_block] = k + 1;
    if (static_cast<unsigned>(depth + 1) < 8u) sum[depth + 1][thread_in_block] = sum[depth][thread_in_block] + in[i * 6 + k];
    if (static_cast<unsigned>(depth + 1) < 8u) next[depth + 1][thread_in_block] = k + 1;
    ++depth;
  }
  out[i] = found;
}
