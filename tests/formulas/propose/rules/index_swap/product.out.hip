// facts: {"launches": [[[512, 512, 1], [16, 16, 1], {"n": 512}]]}
#include <hip/hip_runtime.h>
__global__ void product(const float* a, const float* b, float* c, int n) {
  // Lanes run along y, the direction in which memory is contiguous.
  const unsigned thread_in_block = threadIdx.x + blockDim.x * threadIdx.y;
  const unsigned thread_x = thread_in_block / blockDim.y;
  const unsigned thread_y = thread_in_block % blockDim.y;
  const int x = blockIdx.x * blockDim.x + thread_x;
  const int y = blockIdx.y * blockDim.y + thread_y;
  const int width = gridDim.x * blockDim.x;
  float sum = c[y * width + x];
  for (int k = 0; k < n; k++) sum += a[k * n + y] * b[x * n + k];
  c[y * width + x] = sum;
}
