// facts: {"launches": [[[256, 1, 1], [64, 1, 1], {"n": 256}, {}]], "needs": {"scratch": 16400}}
#include <hip/hip_runtime.h>

#define STATES 4096

__global__ void visits(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned char* place, seen[STATES];
  float sums[40][20] = {{0}}, first[8] = {};
  short last[64] = {0};
  for (int round = 0; round < 2; ++round) {
    memset(seen, 0, STATES);
    for (int k = 0; k < n; ++k) {
      place = seen + (in[k] & (STATES - 1));
      *place += 1;
      sums[in[k] % 40][k % 20] += 1.0f;
      last[k & 63] = *place;
    }
  }
  out[i] = seen[in[i] & (STATES - 1)] + sums[in[i] % 40][3] + first[in[i] & 7] + last[in[i] & 63];
}
