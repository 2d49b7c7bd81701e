// A Laplacian whose coefficients sum to zero: of a field that is the same everywhere, only rounding is left.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void laplacian(const float* in, float* out, int nx, int ny, float ax, float ay) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= nx || y >= ny) return;
  const int at = y * nx + x;
  if (x < 2 || y < 2 || x >= nx - 2 || y >= ny - 2) {
    out[at] = 0;
    return;
  }
  float sum = -2.5f * (ax + ay) * in[at];
  sum += 1.3333334f * ax * (in[at - 1] + in[at + 1]);
  sum += 1.3333334f * ay * (in[at - nx] + in[at + nx]);
  sum -= 0.083333336f * ax * (in[at - 2] + in[at + 2]);
  sum -= 0.083333336f * ay * (in[at - 2 * nx] + in[at + 2 * nx]);
  out[at] = sum;
}
// kernel end
int main() {
  const int nx = 40, ny = 24;
  float *in = numbers(nx * ny), *out = numbers(nx * ny);
  laplacian<<<dim3(5, 3), dim3(8, 8)>>>(in, out, nx, ny, 1.7f, 0.6f);
  return finish();
}
