// facts: {"launches": [[[65536, 1, 1], [256, 1, 1], {"width": 100, "count": 65000}]]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int width, long count) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const int y = static_cast<unsigned>(i) / static_cast<unsigned>(width);
  const int x = i - y * width;
  const long left = (count - i) % width;
  out[x * (static_cast<long>(static_cast<unsigned>(count) / static_cast<unsigned>(width)) + 1) + y] = in[i] + left + i % 7;
}
