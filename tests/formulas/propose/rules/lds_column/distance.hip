// facts: {"launches": [[[1024, 1, 1], [64, 1, 1], {"n": 1024}, {}]]}
#include <hip/hip_runtime.h>

const int LONGEST = 24;

__global__ void distance(const char* query, int length, const char* words, const int* lengths, int* out, int n) {
  const int w = blockIdx.x * blockDim.x + threadIdx.x;
  if (w >= n) return;
  const int end = lengths[w];
  int row[LONGEST + 1] = {0};
  for (int j = 0; j <= end; j++) row[j] = j;
  for (int i = 1; i <= length; i++) {
    int before = row[0];
    row[0] = i;
    for (int j = 1; j <= end; j++) {
      const int changed = before + (query[i - 1] != words[w * LONGEST + j - 1]);
      before = row[j];
      row[j] = min(min(row[j], row[j - 1]) + 1, changed);
    }
  }
  out[w] = row[end];
}
