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
  while (half != 0) {
    if (t < half) {
      double other = largest[t + half];
      if (other > largest[t]) largest[t] = other;
      found[t] = found[t] + found[t + half];
    }
    __syncthreads();
    half >>= 1;
  }
  if (i < n) out[i] = in[i] / largest[0];
  if (t == 0) atomicAdd(count, found[0]);
}
