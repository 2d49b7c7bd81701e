// facts: {"launches": [[[65536, 1, 1], [256, 1, 1]]], "values": {"Levels": [64, 256]}}
#include <hip/hip_runtime.h>
template <int Levels>
__global__ void k(const uchar4* pixels, const unsigned* hashes, unsigned* red, unsigned* green, unsigned* levels, int n) {
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += blockDim.x * gridDim.x) {
    int r = pixels[i].x / 2 + pixels[i].y;
    if (r > 199) r = 199;
    if (r >= 0) atomicAdd(&red[r], 1u);
    atomicAdd(green + (hashes[i] >> 24), 1u);
    atomicAdd(&levels[hashes[i] % Levels], 1u);
  }
}
template __global__ void k<64>(const uchar4*, const unsigned*, unsigned*, unsigned*, unsigned*, int);
