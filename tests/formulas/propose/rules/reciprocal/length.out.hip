// facts: {}
#include <hip/hip_runtime.h>
__global__ void unit(const float4* in, float4* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  float x = in[i].x, y = in[i].y, z = in[i].z;
  float length = sqrtf(x * x + y * y + z * z);
  const float inverse = 1.0f / length;
  x = x * inverse;
  y = y * inverse;
  z *= inverse;
  const float inverse2 = 1.0f / (y + 2.0f);
  const float far = x * inverse2 + z * inverse2;
  length += 1.0f;
  const float other = z / length;
  out[i] = make_float4(x, y, far, other);
}
