// facts: {}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float x = in[i];
  out[i] = __expf(-x) + rsqrtf(x + 1.0f) + __sinf(x) * __builtin_amdgcn_rcpf(x) * __builtin_amdgcn_rcpf(3.0f) + n / 2;
}
