// facts: {"launches": [[[256, 1, 1], [64, 1, 1], {"n": 256}, {}]], "needs": {"scratch": 16400}}
#include <hip/hip_runtime.h>

#define STATES 4096

// `memset` in parts for which the compiler makes stores of 16 bytes.
static __device__ void fill_bytes(void* to, int byte, size_t size) {
  char* const bytes = static_cast<char*>(to);
  const size_t parts = size / 256;
#pragma clang loop unroll(disable)
  for (size_t part = 0; part < parts; ++part) __builtin_memset(bytes + part * 256, byte, 256);
  __builtin_memset(bytes + parts * 256, byte, size % 256);
}

__global__ void visits(const int* in, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  unsigned char* place, seen[STATES];
  float sums[40][20], first[8] = {};
  fill_bytes(sums, 0, sizeof(sums));
  short last[64] = {0};
  for (int round = 0; round < 2; ++round) {
    fill_bytes(seen, 0, STATES);
    for (int k = 0; k < n; ++k) {
      place = seen + (in[k] & (STATES - 1));
      *place += 1;
      sums[in[k] % 40][k % 20] += 1.0f;
      last[k & 63] = *place;
    }
  }
  out[i] = seen[in[i] & (STATES - 1)] + sums[in[i] % 40][3] + first[in[i] & 7] + last[in[i] & 63];
}
