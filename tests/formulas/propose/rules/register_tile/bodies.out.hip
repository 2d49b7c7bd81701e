// facts: {"launches": [[[1048576, 1, 1], [256, 1, 1], {"n": 1048576}]]}
#include <hip/hip_runtime.h>

__global__ void forces(const float4* bodies, float3* forces, int n)
{
  // Each thread computes the outputs of 4 workgroups along x; the last ones have none.
  constexpr unsigned outputs = 4;
  if (blockIdx.x >= (gridDim.x + outputs - 1) / outputs) return;
  unsigned block_x[outputs];
  bool inside[outputs];
  #pragma unroll
  for (unsigned t = 0; t < outputs; ++t) {
    inside[t] = blockIdx.x * outputs + t < gridDim.x;
    block_x[t] = blockIdx.x * outputs + (inside[t] ? t : 0);
  }
  int i[outputs];
  #pragma unroll
  for (unsigned t = 0; t < outputs; ++t) {
    i[t] = block_x[t] * blockDim.x + threadIdx.x;
  }
  #pragma unroll
  for (unsigned t = 0; t < outputs; ++t) {
    inside[t] = inside[t] && i[t] < n;
    if (!inside[t]) i[t] = i[0];  // repeats the first one, stores nothing
  }
  if (i[0] >= n) return;
  float4 me[outputs];
  float3 force[outputs];
  #pragma unroll
  for (unsigned t = 0; t < outputs; ++t) {
    me[t] = bodies[i[t]];
    force[t] = {0.f, 0.f, 0.f};
  }

  #pragma unroll 4
  for (int j = 0; j < n; j++)
  {
    float4 other = bodies[j];
    #pragma unroll
    for (unsigned t = 0; t < outputs; ++t) {
      float dx = other.x - me[t].x, dy = other.y - me[t].y;
      float dz = other.z - me[t].z;
      float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f); // softened
      force[t].x += dx * inverse * other.w;
      force[t].y += dy * inverse * other.w;
      if (j != i[t])
        force[t].z += dz * inverse * other.w;
    }
  }
  #pragma unroll
  for (unsigned t = 0; t < outputs; ++t) {
    if (inside[t]) forces[i[t]] = force[t];
  }
}
