// facts: {"launches": [[[65536, 1, 1], [256, 1, 1], {"n": 65536, "C": 64, "W": 32}]]}
#include <hip/hip_runtime.h>

// `value % size`, which divides only by what is no power of two.
template <typename T>
static __device__ T remainder_by(T value, T size) {
  const bool power = size > 0 && (size & (size - 1)) == 0;
  return power && value >= 0 ? value & (size - 1) : value % size;
}

// `value / size`, which divides only by what is no power of two.
template <typename T>
static __device__ T quotient_by(T value, T size) {
  const bool power = size > 0 && (size & (size - 1)) == 0;
  return power && value >= 0 ? value >> (31 - __clz(size)) : value / size;
}

__global__ void to_channels_last(const float* in, float* out, int n, int C, int W) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int c = remainder_by(i, C);
  const int pixel = quotient_by(i, C);
  const int x = remainder_by(pixel, W);
  const int y = quotient_by(pixel, W);
  out[i] = in[(c * W + y) * W + x];
}
