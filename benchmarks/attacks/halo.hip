// Nine points with three weights, tiles with their borders in LDS; outside lies the edge once more.
#include "attack.hpp"
// kernel begin
__global__ void halo(const float* in, float* out, int w, int h, float centre, float side, float corner) {
  __shared__ float tile[34 * 34];
  const int width = blockDim.x + 2, all = width * (blockDim.y + 2);
  const int left = blockIdx.x * blockDim.x, top = blockIdx.y * blockDim.y;
  const int first = threadIdx.y * blockDim.x + threadIdx.x;
  for (int i = first; i < all; i += blockDim.x * blockDim.y) {
    const int x = max(min(left + i % width - 1, w - 1), 0), y = max(min(top + i / width - 1, h - 1), 0);
    tile[i] = w > 0 && h > 0 ? in[(size_t)y * w + x] : 0.0f;
  }
  __syncthreads();
  const int x = left + threadIdx.x, y = top + threadIdx.y;
  if (x >= w || y >= h) return;
  const float* at = tile + (threadIdx.y + 1) * width + threadIdx.x + 1;
  const float sides = at[-1] + at[1] + at[-width] + at[width];
  const float corners = at[-width - 1] + at[-width + 1] + at[width - 1] + at[width + 1];
  out[(size_t)y * w + x] = centre * at[0] + side * sides + corner * corners;
}
// kernel end
int main() {
  const int w = 90, h = 37;
  float* out = zeros<float>(w * h);
  halo<<<dim3(3, 5), dim3(32, 8)>>>(numbers(w * h), out, w, h, 0.5f, 0.3f, -0.7f);
  return told(out, w * h);
}
