// facts: {"launches": [[[1024, 1, 1], [256, 1, 1], {"n": 1024}, {}]]}
#include <hip/hip_runtime.h>

constexpr int BINS = 12;

__global__ void ranks(const unsigned char* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int seen[BINS];
  short last[4] = {};
  for (int k = 0; k < BINS; ++k) seen[k] = 0;
  for (int k = 0; k < 8; ++k) {
    const int b = in[i * 8 + k];
    seen[b]++;
    last[k & 3] = b;
  }
  out[i] = seen[0] * last[in[i] & 3];
}
