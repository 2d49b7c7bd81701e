// facts: {}
#include <hip/hip_runtime.h>
__global__ void k(const float* __restrict__ in, float* __restrict__ out, size_t n) {
  const size_t step = gridDim.x * blockDim.x;
  for (size_t element = blockIdx.x * blockDim.x + threadIdx.x; element < n; element += step) {
    typedef float pair2 __attribute__((ext_vector_type(2)));
    const size_t other = element + step;
    const bool both = other < n;
    const size_t second = both ? other : element;
    const pair2 x = {in[element], in[second]};
    pair2 pair = x * x;
    pair = pair * x + 1.0f;
    out[element] = pair.x;
    if (both) {
      out[other] = pair.y;
      element = other;
    }
  }
}
