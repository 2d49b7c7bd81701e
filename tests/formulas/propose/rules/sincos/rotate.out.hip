// facts: {"launches": [[[16, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>

__global__ void rotate(const float* angles, const float* radii, float2* points, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float angle = angles[i];
  float2 point;
  float sine, cosine;
  sincosf(angle + 0.5f, &sine, &cosine);
  point.x = radii[i] * cosine;
  point.y = radii[i] * sine;
  float sin_angle, cos_angle;
  sincosf(angle, &sin_angle, &cos_angle);
  const float turned = sin_angle * point.x - cos_angle * point.y;
  float sine2, cosine2;
  sincosf(radii[i], &sine2, &cosine2);
  points[i] = make_float2(turned, sine2 + cosine2);
  float moved = angle;
  point.x = sinf(moved);
  moved += 1.0f;
  point.y = cosf(moved);  // of another value
  points[i + n] = point;
}
