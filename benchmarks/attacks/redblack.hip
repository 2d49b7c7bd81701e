// One half step of Poisson's equation by over-relaxation: the points of one colour, in place.
#include "attack.hpp"
// kernel begin
__global__ void redblack(float* u, const float* f, int w, int h, int colour, float omega, float h2) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x + 1;
  const int y = blockIdx.y * blockDim.y + threadIdx.y + 1;
  if (x >= w - 1 || y >= h - 1 || ((x + y) & 1) != colour) return;
  const int at = y * w + x;
  const float sum = u[at - 1] + u[at + 1] + u[at - w] + u[at + w];
  u[at] += omega * (0.25f * (sum - h2 * f[at]) - u[at]);
}
// kernel end
int main() {
  const int w = 50, h = 30;
  float* u = numbers(w * h);
  redblack<<<dim3(4, 4), dim3(16, 8)>>>(u, numbers(w * h), w, h, 1, 1.5f, 0.01f);
  return told(u, w * h);
}
