// facts: {}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* sum, int n, int steps) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float own = 0.0f;
  #pragma unroll 4
  for (int s = 0; s < steps; ++s) own += in[s * n + i];
#ifdef SCALED
  own *= 0.5f;
#endif
  atomicAdd(sum, own);
}
