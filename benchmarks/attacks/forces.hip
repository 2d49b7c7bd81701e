// Forces between bodies, softened.
#include "attack.hpp"
// kernel begin
__global__ void forces(const float4* bodies, float3* out, int n, float soft) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float4 me = bodies[i];
  float3 f = make_float3(0.0f, 0.0f, 0.0f);
  for (int j = 0; j < n; ++j) {
    const float4 b = bodies[j];
    const float x = b.x - me.x, y = b.y - me.y, z = b.z - me.z;
    const float r = 1.0f / sqrtf(x * x + y * y + z * z + soft);
    const float w = b.w * r * r * r;
    f.x += w * x;
    f.y += w * y;
    f.z += w * z;
  }
  out[i] = f;
}
// kernel end
int main() {
  const int n = 120;
  auto* bodies = filled<float4>(n, [](int i) { return make_float4(number(4 * i), number(4 * i + 1), number(4 * i + 2), 1.0f); });
  auto* out = filled<float3>(n, [](int) { return make_float3(0, 0, 0); });
  forces<<<2, 64>>>(bodies, out, n, 0.01f);
  return told(out, n);
}
