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
  // The first wave adds up what one thread would add up alone.
  float wave_sum = 0;
  int wave_sum_2 = 0;
  if (x < warpSize) {
    for (int t = x; t < THREADS; t += warpSize) {
      wave_sum += values[t];
      wave_sum_2 += found[t];
    }
    for (int offset = warpSize / 2; offset > 0; offset /= 2) {
      wave_sum += __shfl_down(wave_sum, offset);
      wave_sum_2 += __shfl_down(wave_sum_2, offset);
    }
  }
  if (x == 0 && y == 0) {
    float sum = 0.0f;
    int total = 0;
    sum += wave_sum;
    total += wave_sum_2;
    out[group] = sum;
    count[group] = total;
  }
}
