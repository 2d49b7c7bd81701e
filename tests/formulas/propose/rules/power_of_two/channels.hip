// facts: {"launches": [[[65536, 1, 1], [256, 1, 1], {"n": 65536, "C": 64, "W": 32}]]}
#include <hip/hip_runtime.h>

__global__ void to_channels_last(const float* in, float* out, int n, int C, int W) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int c = i % C;
  const int pixel = i / C;
  const int x = pixel % W;
  const int y = pixel / W;
  out[i] = in[(c * W + y) * W + x];
}
