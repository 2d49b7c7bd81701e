// facts: {"launches": [[[65536, 1, 1], [256, 1, 1], {}, {"sum_x": 64, "sum_y": 64, "members": 64, "labels": 262144}]]}
#include <hip/hip_runtime.h>
__global__ void k(const float2* points, const float2* centers, int* labels, float* sum_x, float* sum_y, int* members,
                  int clusters, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float2 p = points[i];
  int best = 0;
  float least = 3e38f;
  for (int c = 0; c < clusters; ++c) {
    const float dx = p.x - centers[c].x, dy = p.y - centers[c].y;
    const float square = dx * dx + dy * dy;
    if (square < least) {
      least = square;
      best = c;
    }
  }
  labels[i] = best;
  atomicAdd(&sum_x[best], p.x);
  atomicAdd(&sum_y[best], p.y);
  atomicAdd(&members[best], 1);
}
