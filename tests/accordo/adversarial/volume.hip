#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void volume(const float* in, float* out, int nx, int ny, int nz, float c) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x >= nx || y >= ny || z >= nz) return;
  const int at = (z * ny + y) * nx + x;
  out[at] = in[at] * c + (float)(x + y + z);
}
// kernel end
int main() {
  const int nx = 20, ny = 10, nz = 6;
  volume<<<dim3(3, 3, 2), dim3(8, 4, 4)>>>(numbers(nx * ny * nz), zeros<float>(nx * ny * nz), nx, ny, nz, 0.5f);
  return finish();
}
