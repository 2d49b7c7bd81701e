// facts: {"launches": [[[65536, 1, 1], [128, 1, 1]]]}
#include <hip/hip_runtime.h>
#define THREADS 128
__global__ void k(const double* in, double* out, int* count, int n) {
  __shared__ double largest[THREADS];
  __shared__ int found[THREADS];
  const int t = threadIdx.x;
  const int i = blockIdx.x * THREADS + t;
  largest[t] = i < n ? in[i] : 0.0;
  found[t] = i < n && in[i] > 1.0;
  __syncthreads();
  int half = THREADS / 2;
  while (half >= warpSize) {
    if (t < half) {
      double other = largest[t + half];
      if (other > largest[t]) largest[t] = other;
      found[t] = found[t] + found[t + half];
    }
    __syncthreads();
    half >>= 1;
  }
  // One wave has the rest: its lanes exchange values without barriers.
  if (t < warpSize) {
    double value = largest[t];
    int value_2 = found[t];
    for (int offset = warpSize / 2; offset > 0; offset /= 2) {
      const double other2 = __shfl_down(value, offset);
      const int other_2 = __shfl_down(value_2, offset);
      double other = other2;
      if (other > value) value = other;
      value_2 = value_2 + other_2;
    }
    if (t == 0) { largest[0] = value; found[0] = value_2; }
  }
  __syncthreads();
  if (i < n) out[i] = in[i] / largest[0];
  if (t == 0) atomicAdd(count, found[0]);
}
