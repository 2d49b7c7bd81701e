// facts: {"launches": [[[65536, 1, 1], [128, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void moments(const double* in, double* out, int n) {
  __shared__ double4 sums;
  __shared__ int2 sizes;
  __shared__ int most;
  if (threadIdx.x == 0) {
    sums = make_double4(0, 0, 0, 0);
    sizes = make_int2(0, 0);
    most = 0;
  }
  __syncthreads();
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const double x = in[i];
  // Powers of x.
  atomicAdd(&sums.x, x);
  atomicAdd(&sums.y, x * x);
  atomicAdd(&sums.z, x * x * x);
  if (n > 7) {
    for (int k = 0; k < n; ++k) {
      if (in[i + k] > x) atomicAdd(&sizes.y, 1);
    }
  }
  __syncthreads();
  atomicMax(&most, sizes.y + i);
  __syncthreads();
  if (threadIdx.x == 0) out[blockIdx.x] = sums.x + sums.y * sums.z + most;
}
