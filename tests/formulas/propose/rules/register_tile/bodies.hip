// facts: {"launches": [[[1048576, 1, 1], [256, 1, 1], {"n": 1048576}]]}
#include <hip/hip_runtime.h>

__global__ void forces(const float4* bodies, float3* forces, int n)
{
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float4 me = bodies[i];
  float3 force = {0.f, 0.f, 0.f};

  #pragma unroll 4
  for (int j = 0; j < n; j++)
  {
    float4 other = bodies[j];
    float dx = other.x - me.x, dy = other.y - me.y;
    float dz = other.z - me.z;
    float inverse = rsqrtf(dx * dx + dy * dy + dz * dz + 1e-3f); // softened
    force.x += dx * inverse * other.w;
    force.y += dy * inverse * other.w;
    if (j != i)
      force.z += dz * inverse * other.w;
  }
  forces[i] = force;
}
