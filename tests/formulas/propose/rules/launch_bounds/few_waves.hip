// facts: {"launches": [[[20032, 1, 1], [256, 1, 1]]], "threads": 256, "needs": {"vgprs": 132}}
#include <hip/hip_runtime.h>
__global__ void __launch_bounds__(256) k(const float* in, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = in[i];
}
