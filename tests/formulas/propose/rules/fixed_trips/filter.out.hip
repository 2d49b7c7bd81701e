// facts: {"launches": [[[4096, 1, 1], [256, 1, 1], {"n": 4096, "taps": 3, "rows": 100}]]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, const float* weights, float* out, int n, int taps, int rows) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float sum = 0.0f;
  for (int r = 0; r < rows; ++r)
    if (taps == 3) {  // the usual length
      for (int p = -1; p < taps - 1; ++p)
        #pragma unroll
        for (int q = 0; q < 3; ++q)
          sum += in[(r + p) * n + i + q] * weights[(p + 1) * taps + q];
    } else {
      for (int p = -1; p < taps - 1; ++p)
        for (int q = 0; q < taps; ++q)
          sum += in[(r + p) * n + i + q] * weights[(p + 1) * taps + q];
    }
  if (taps == 3) {  // the usual length
    #pragma unroll
    for (int q = 3; q >= 1; q -= 1) sum = sum * 0.5f + weights[q];
  } else {
#pragma unroll 2
    for (int q = taps; q >= 1; q -= 1) sum = sum * 0.5f + weights[q];
  }
  out[i] = sum;
}
