// A lattice Boltzmann step of five directions: collide, then go on to the neighbour; walls send back and are empty.
#include "attack.hpp"
// kernel begin
__global__ void collide(const float* from, float* to, const unsigned char* wall, int w, int h, float omega) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= w || y >= h || wall[y * w + x]) return;
  const int cells = w * h, here = y * w + x;
  const int next[5] = {here, y * w + (x + 1) % w, (y + 1) % h * w + x, y * w + (x + w - 1) % w, (y + h - 1) % h * w + x};
  float f[5], rho = 0.0f;
  for (int d = 0; d < 5; ++d) rho += f[d] = from[d * cells + here];
  const float ux = f[1] - f[3], uy = f[2] - f[4];
  const float dx[5] = {0, 1, 0, -1, 0}, dy[5] = {0, 0, 1, 0, -1};
  for (int d = 0; d < 5; ++d) {
    const float weight = d == 0 ? 1.0f / 3.0f : 1.0f / 6.0f;
    const float rest = weight * (rho + 3.0f * (dx[d] * ux + dy[d] * uy));
    const float after = f[d] + omega * (rest - f[d]);
    const int back = d == 0 ? 0 : (d + 1) % 4 + 1;
    if (wall[next[d]]) to[back * cells + here] = after;
    else to[d * cells + next[d]] = after;
  }
}
// kernel end
int main() {
  const int w = 48, h = 33;
  auto* wall = filled<unsigned char>(w * h, [](int i) { return (unsigned char)(bits(i) % 9 == 0); });
  float* to = zeros<float>(5 * w * h);
  collide<<<dim3(3, 5), dim3(16, 8)>>>(numbers(5 * w * h), to, wall, w, h, 1.7f);
  return told(to, 5 * w * h);
}
