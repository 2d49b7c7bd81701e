// facts: {}
#include <hip/hip_runtime.h>
__global__ void k(const float* __restrict__ in, float* __restrict__ out, size_t n) {
  const size_t step = gridDim.x * blockDim.x;
  for (size_t element = blockIdx.x * blockDim.x + threadIdx.x; element < n; element += step) {
    const float x = in[element];
    float pair = x * x;
    pair = pair * x + 1.0f;
    out[element] = pair;
  }
}
