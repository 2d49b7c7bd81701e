// facts: {"launches": [[[640, 480, 1], [32, 8, 1], {"width": 640, "height": 480}, {}]]}
#include <hip/hip_runtime.h>

template <int RADIUS>
__global__ void window(const float* in, float* out, int width, int height) {
  // The same for all threads: computed once for each dy and dx.
  __shared__ float expf_of_dy_dx[2 * RADIUS + 1][2 * RADIUS + 1];
  const unsigned thread_in_block = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned threads_of_block = blockDim.x * blockDim.y * blockDim.z;
  for (int place = thread_in_block; place < (2 * RADIUS + 1) * (2 * RADIUS + 1); place += threads_of_block) {
    const int dy = place / (2 * RADIUS + 1) - RADIUS;
    const int dx = place % (2 * RADIUS + 1) - RADIUS;
    expf_of_dy_dx[dy + RADIUS][dx + RADIUS] = expf(-0.5f * (dx * dx + dy * dy) / (RADIUS * RADIUS));
  }
  __syncthreads();
  const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < RADIUS || y < RADIUS || x >= width - RADIUS || y >= height - RADIUS) return;
  float sum = 0.0f, norm = 0.0f;
  for (int dy = -RADIUS; dy <= RADIUS; ++dy) {
    for (int dx = -RADIUS; dx <= RADIUS; ++dx) {
      const float weight = expf_of_dy_dx[dy + RADIUS][dx + RADIUS];
      sum += weight * in[(y + dy) * width + x + dx];
      norm += weight;
    }
  }
  out[y * width + x] = sum / norm;
}

template __global__ void window<3>(const float*, float*, int, int);
