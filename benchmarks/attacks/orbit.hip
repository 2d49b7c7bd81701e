// Points that move along a field of three equations, some steps of Runge and Kutta of fourth order each.
#include "attack.hpp"
// kernel begin
__device__ float3 flow(float3 p, float a, float b, float c) {
  return make_float3(a * (p.y - p.x), p.x * (b - p.z) - p.y, p.x * p.y - c * p.z);
}
__device__ float3 along(float3 p, float3 d, float t) { return make_float3(p.x + t * d.x, p.y + t * d.y, p.z + t * d.z); }
__global__ void orbit(float* at, int* left, int n, int steps, float h, float a, float b, float c, float bound) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float3 p = make_float3(at[3 * i], at[3 * i + 1], at[3 * i + 2]);
  int s = 0;
  for (; s < steps; ++s) {
    const float3 k1 = flow(p, a, b, c), k2 = flow(along(p, k1, h / 2), a, b, c), k3 = flow(along(p, k2, h / 2), a, b, c), k4 = flow(along(p, k3, h), a, b, c);
    p = along(p, make_float3(k1.x + 2 * k2.x + 2 * k3.x + k4.x, k1.y + 2 * k2.y + 2 * k3.y + k4.y, k1.z + 2 * k2.z + 2 * k3.z + k4.z), h / 6);
    if (p.x * p.x + p.y * p.y + p.z * p.z > bound * bound) break;
  }
  at[3 * i] = p.x;
  at[3 * i + 1] = p.y;
  at[3 * i + 2] = p.z;
  left[i] = steps - s;
}
// kernel end
int main() {
  const int n = 150;
  float* at = numbers(3 * n);
  int* left = zeros<int>(n);
  orbit<<<3, 64>>>(at, left, n, 6, 0.004f, 10.0f, 28.0f, 2.667f, 60.0f);
  return told(at, 3 * n) + told(left, n);
}
