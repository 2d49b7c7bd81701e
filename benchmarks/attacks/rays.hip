// The nearest sphere that each ray from the origin hits, in front of it; the far side where it begins inside.
#include "attack.hpp"
// kernel begin
__global__ void rays(const float3* directions, const float4* spheres, float* depth, int* which, int n, int count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float3 d = directions[i];
  const float a = d.x * d.x + d.y * d.y + d.z * d.z;
  float least = INFINITY;
  int at = -1;
  for (int k = 0; k < count; ++k) {
    const float4 s = spheres[k];
    const float b = d.x * s.x + d.y * s.y + d.z * s.z;
    const float c = s.x * s.x + s.y * s.y + s.z * s.z - s.w * s.w;
    const float under = b * b - a * c;
    if (!(under >= 0.0f)) continue;
    const float root = sqrtf(under);
    float t = (b - root) / a;
    if (t < 0.0f) t = (b + root) / a;
    if (t >= 0.0f && t < least) {
      least = t;
      at = k;
    }
  }
  depth[i] = least;
  which[i] = at;
}
// kernel end
int main() {
  const int n = 400, count = 14;
  auto* directions = filled<float3>(n, [](int i) { return make_float3(number(3 * i), number(3 * i + 1), number(3 * i + 2)); });
  auto* spheres = filled<float4>(count, [](int i) { return make_float4(5 * number(4 * i + 7), 5 * number(4 * i + 8), 5 * number(4 * i + 9), 3.0f); });
  float* depth = zeros<float>(n);
  int* which = zeros<int>(n);
  rays<<<4, 128>>>(directions, spheres, depth, which, n, count);
  return told(depth, n) + told(which, n);
}
