// facts: {"launches": [[[64, 64, 64], [4, 8, 8], {"nx": 64, "ny": 64, "nz": 64}]]}
#include <hip/hip_runtime.h>

__global__ void smooth(const float* in, float* out, int nx, int ny, int nz) {
  // Lanes run along z, the direction in which memory is contiguous.
  const unsigned thread_in_block = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned thread_z = thread_in_block % blockDim.z;
  const unsigned thread_x = thread_in_block / blockDim.z % blockDim.x;
  const unsigned thread_y = thread_in_block / (blockDim.z * blockDim.x);
  const int k = blockIdx.x * blockDim.x + thread_x;
  const int j = blockIdx.y * blockDim.y + thread_y;
  const int i = blockIdx.z * blockDim.z + thread_z;
  if (i < 1 || i >= nx - 1 || j >= ny || k >= nz) return;
  const int at = i + nx * (j + ny * k);
  out[at] = 0.25f * in[at - 1] + 0.5f * in[at] + 0.25f * in[at + 1];
}
