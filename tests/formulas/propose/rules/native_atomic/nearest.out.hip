// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void nearest(float* depth, const float* z, const int* pixel, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    const float value = z[i];
    if (value < __hip_atomic_load(depth + pixel[i], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) {
      if (__float_as_int(value) >= 0) atomicMin((int*)(depth + pixel[i]), __float_as_int(value));
      else atomicMax((unsigned int*)(depth + pixel[i]), __float_as_uint(value));
    }
  }
}
