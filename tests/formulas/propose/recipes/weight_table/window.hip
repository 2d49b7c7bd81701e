// facts: {"launches": [[[640, 480, 1], [32, 8, 1], {"width": 640, "height": 480}, {}]]}
#include <hip/hip_runtime.h>

template <int RADIUS>
__global__ void window(const float* in, float* out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < RADIUS || y < RADIUS || x >= width - RADIUS || y >= height - RADIUS) return;
  float sum = 0.0f, norm = 0.0f;
  for (int dy = -RADIUS; dy <= RADIUS; ++dy) {
    for (int dx = -RADIUS; dx <= RADIUS; ++dx) {
      const float weight = expf(-0.5f * (dx * dx + dy * dy) / (RADIUS * RADIUS));
      sum += weight * in[(y + dy) * width + x + dx];
      norm += weight;
    }
  }
  out[y * width + x] = sum / norm;
}

template __global__ void window<3>(const float*, float*, int, int);
