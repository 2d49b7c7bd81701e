// facts: {"launches": [[[64, 64, 64], [4, 8, 8], {"nx": 64, "ny": 64, "nz": 64}]]}
#include <hip/hip_runtime.h>

__global__ void smooth(const float* in, float* out, int nx, int ny, int nz) {
  const int k = blockIdx.x * blockDim.x + threadIdx.x;
  const int j = blockIdx.y * blockDim.y + threadIdx.y;
  const int i = blockIdx.z * blockDim.z + threadIdx.z;
  if (i < 1 || i >= nx - 1 || j >= ny || k >= nz) return;
  const int at = i + nx * (j + ny * k);
  out[at] = 0.25f * in[at - 1] + 0.5f * in[at] + 0.25f * in[at + 1];
}
