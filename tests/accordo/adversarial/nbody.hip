// Accelerations of bodies that attract each other, softened.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void nbody(const float4* body, float4* acc, int n, float eps2) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 p = body[i];
  float x = 0, y = 0, z = 0;
  for (int j = 0; j < n; ++j) {
    const float4 q = body[j];
    const float dx = q.x - p.x, dy = q.y - p.y, dz = q.z - p.z;
    const float r2 = dx * dx + dy * dy + dz * dz + eps2;
    const float inv = 1.0f / sqrtf(r2 * r2 * r2);
    x += dx * inv * q.w;
    y += dy * inv * q.w;
    z += dz * inv * q.w;
  }
  acc[i] = make_float4(x, y, z, 0.0f);
}
// kernel end
int main() {
  const int n = 96;
  float4* body = filled<float4>(n, [](int i) { return make_float4(number(i), number(i + 99), number(i + 77), 1.0f); });
  nbody<<<2, 64>>>(body, zeros<float4>(n), n, 0.01f);
  return finish();
}
