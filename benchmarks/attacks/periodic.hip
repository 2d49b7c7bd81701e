// One step of a five-point stencil on a torus.
#include "attack.hpp"
// kernel begin
__global__ void periodic(const float* in, float* out, int nx, int ny, float k) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= nx || y >= ny) return;
  const int left = (x + nx - 1) % nx, right = (x + 1) % nx;
  const int up = (y + ny - 1) % ny, down = (y + 1) % ny;
  const float mid = in[y * nx + x];
  out[y * nx + x] = mid + k * (in[y * nx + left] + in[y * nx + right] + in[up * nx + x] + in[down * nx + x] - 4.0f * mid);
}
// kernel end
int main() {
  const int nx = 64, ny = 40;
  float* out = zeros<float>(nx * ny);
  periodic<<<dim3(2, 5), dim3(32, 8)>>>(numbers(nx * ny), out, nx, ny, 0.2f);
  return told(out, nx * ny);
}
