// facts: {"launches": [[[1024, 1, 1], [256, 1, 1], {"n": 1024}, {}]]}
#include <hip/hip_runtime.h>

constexpr int BINS = 12;

__global__ __launch_bounds__(256) void ranks(const unsigned char* in, int* out, int n) {
  const unsigned thread_in_block = threadIdx.x;
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  __shared__ int seen[BINS][256];
  __shared__ short last[4][256];
  for (int row = 0; row < 4; ++row) last[row][thread_in_block] = 0;
  for (int k = 0; k < BINS; ++k) seen[k][thread_in_block] = 0;
  for (int k = 0; k < 8; ++k) {
    const int b = in[i * 8 + k];
    if (static_cast<unsigned>(b) < BINS) seen[b][thread_in_block]++;
    if (static_cast<unsigned>(k & 3) < 4u) last[k & 3][thread_in_block] = b;
  }
  out[i] = seen[0][thread_in_block] * last[in[i] & 3][thread_in_block];
}
