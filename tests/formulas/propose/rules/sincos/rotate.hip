// facts: {"launches": [[[16, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>

__global__ void rotate(const float* angles, const float* radii, float2* points, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float angle = angles[i];
  float2 point;
  point.x = radii[i] * cosf(angle + 0.5f);
  point.y = radii[i] * sinf(angle + 0.5f);
  const float turned = sinf(angle) * point.x - cosf(angle) * point.y;
  points[i] = make_float2(turned, sinf(radii[i]) + cosf(radii[i]));
  float moved = angle;
  point.x = sinf(moved);
  moved += 1.0f;
  point.y = cosf(moved);  // of another value
  points[i + n] = point;
}
