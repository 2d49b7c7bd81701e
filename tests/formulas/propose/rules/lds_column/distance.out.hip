// facts: {"launches": [[[1024, 1, 1], [64, 1, 1], {"n": 1024}, {}]]}
#include <hip/hip_runtime.h>

const int LONGEST = 24;

__global__ __launch_bounds__(64) void distance(const char* query, int length, const char* words, const int* lengths, int* out, int n) {
  const unsigned thread_in_block = threadIdx.x;
  const int w = blockIdx.x * blockDim.x + threadIdx.x;
  if (w >= n) return;
  const int end = lengths[w];
  __shared__ int row[LONGEST + 1][64];
  for (int row2 = 0; row2 < LONGEST + 1; ++row2) row[row2][thread_in_block] = 0;
  for (int j = 0; j <= end; j++) row[j][thread_in_block] = j;
  for (int i = 1; i <= length; i++) {
    int before = row[0][thread_in_block];
    row[0][thread_in_block] = i;
    for (int j = 1; j <= end; j++) {
      const int changed = before + (query[i - 1] != words[w * LONGEST + j - 1]);
      before = row[j][thread_in_block];
      row[j][thread_in_block] = min(min(row[j][thread_in_block], row[j - 1][thread_in_block]) + 1, changed);
    }
  }
  out[w] = row[end][thread_in_block];
}
