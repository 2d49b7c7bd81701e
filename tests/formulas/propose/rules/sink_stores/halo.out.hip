// facts: {"launches": [[[64, 64, 1], [16, 16, 1], {"width": 64, "height": 64}, {}]]}
#include <hip/hip_runtime.h>

#define TILE 16

__global__ void halo(const float* in, float* out, int width, int height) {
  __shared__ float tile[TILE + 2][TILE + 2];
  const int x = blockIdx.x * TILE + threadIdx.x, y = blockIdx.y * TILE + threadIdx.y;
  const int tx = threadIdx.x + 1, ty = threadIdx.y + 1;
  float tile_value, tile_value_2, tile_value_3, tile_value_4, tile_value_5;
  if (x < width && y < height) {
    tile_value = in[y * width + x];
    if (tx == 1) {
      int left = x > 0 ? x - 1 : x;
      tile_value_2 = in[y * width + left];
    } else if (tx == TILE)
      tile_value_3 = in[y * width + min(x + 1, width - 1)];
    if (ty == 1 || height == 1) tile_value_4 = y > 0 ? in[(y - 1) * width + x] : 0.0f;
  }
  if (ty == TILE) {
    // The row below.
    tile_value_5 = x < width && y + 1 < height ? in[(y + 1) * width + x] : 0.0f;
  }
  // Stored only here: the loads above are all on their way before the first is waited for.
  if (x < width && y < height) tile[ty][tx] = tile_value;
  if (x < width && y < height && tx == 1) tile[ty][0] = tile_value_2;
  if (x < width && y < height && tx != 1 && tx == TILE) tile[ty][TILE + 1] = tile_value_3;
  if (x < width && y < height && (ty == 1 || height == 1)) tile[0][tx] = tile_value_4;
  if (ty == TILE) tile[TILE + 1][tx] = tile_value_5;
  __syncthreads();
  if (x < width && y < height)
    out[y * width + x] = tile[ty][tx - 1] + tile[ty][tx + 1] + tile[ty - 1][tx] + tile[ty + 1][tx];
}
