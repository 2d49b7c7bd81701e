// (x, y, z) becomes (z, y, x).
#include "attack.hpp"
// kernel begin
__global__ void permute(const int* in, int* out, int nx, int ny, int nz) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const int z = blockIdx.z * blockDim.z + threadIdx.z;
  if (x < nx && y < ny && z < nz) out[((long)x * ny + y) * nz + z] = in[((long)z * ny + y) * nx + x];
}
// kernel end
int main() {
  const int nx = 36, ny = 10, nz = 14;
  int* out = zeros<int>(nx * ny * nz);
  permute<<<dim3(5, 3, 4), dim3(8, 4, 4)>>>(upto<int>(nx * ny * nz, 1u << 31), out, nx, ny, nz);
  return told(out, nx * ny * nz);
}
