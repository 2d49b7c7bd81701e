// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void nearest(float* depth, const float* z, const int* pixel, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    float* const place = depth + pixel[i];
    float seen = *place;
    while (z[i] < seen) {
      const unsigned int before = __float_as_uint(seen);
      const unsigned int found = atomicCAS((unsigned int*)place, before, __float_as_uint(z[i]));
      if (found == before) break;
      seen = __uint_as_float(found);
    }
  }
}
