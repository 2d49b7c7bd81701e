// facts: {"launches": [[[65536, 1, 1], [128, 1, 1]]], "written": 128}
#include <hip/hip_runtime.h>
#define THREADS 128
__global__ void k(const float* in, float* out, int* count, int n) {
  __shared__ float values[THREADS];
  __shared__ int found[THREADS];
  const int x = threadIdx.x;
  const int y = threadIdx.y;
  const int i = blockIdx.x * THREADS + x;
  values[x] = i < n ? in[i] : 0.0f;
  found[x] = i < n && in[i] > 1.0f;
  __syncthreads();
  const int group = blockIdx.x;
  if (x == 0 && y == 0) {
    float sum = 0.0f;
    int total = 0;
#pragma unroll 4
    for (int t = 0; t < THREADS; t++) {
      sum += values[t];
      total += found[t];
    }
    out[group] = sum;
    count[group] = total;
  }
}
