// One step of the heat equation on a grid of nx * ny points.
#include "attack.hpp"
// kernel begin
__global__ void heat(const float* in, float* out, size_t nx, size_t ny, float rate) {
  const size_t x = blockIdx.x * (size_t)blockDim.x + threadIdx.x;
  const size_t y = blockIdx.y * (size_t)blockDim.y + threadIdx.y;
  if (x < 1 || y < 1 || x + 1 >= nx || y + 1 >= ny) return;
  const size_t at = y * nx + x;
  out[at] = in[at] + rate * (in[at - 1] + in[at + 1] + in[at - nx] + in[at + nx] - 4.0f * in[at]);
}
// kernel end
int main() {
  const size_t nx = 130, ny = 67;
  float* out = numbers(nx * ny);
  heat<<<dim3(5, 9), dim3(32, 8)>>>(numbers(nx * ny), out, nx, ny, 0.1f);
  return told(out, nx * ny);
}
