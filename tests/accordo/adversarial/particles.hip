// Particles between two walls; a structure leads to their arrays. All of them are alive, and none reaches a wall.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
struct Particles {
  float *x, *v;
  const int* alive;
  int n;
  float dt, wall;
  bool bounce;
};
// kernel begin
__global__ void particles(Particles p) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.n || !p.alive[i]) return;
  float x = p.x[i] + p.dt * p.v[i];
  if (p.bounce && x > p.wall) {
    x = 2 * p.wall - x;
    p.v[i] = -p.v[i];
  }
  p.x[i] = x;
}
// kernel end
int main() {
  const int n = 150;
  int* alive = filled<int>(n, [](int) { return 1; });
  particles<<<3, 64>>>({numbers(n), numbers(n), alive, n, 0.01f, 100.0f, true});
  return finish();
}
