// belief: {"finding": "F1", "edit": "a tile in LDS", "mechanism": "stores run along rows too", "metric": "global_store_lines", "direction": "down", "expected_percent": 80}
__global__ void transpose(const float* in, float* out, int width, int height) {
  __shared__ float tile[kBlockY][kBlockX + 1];
  const int x = blockIdx.x * kBlockX + threadIdx.x;
  const int y = blockIdx.y * kBlockY + threadIdx.y;
  if (blockDim.x != kBlockX || blockDim.y != kBlockY || blockDim.z != 1) {
    if (x < width && y < height) out[x * height + y] = in[y * width + x];
    return;
  }
  if (x < width && y < height) tile[threadIdx.y][threadIdx.x] = in[y * width + x];
  __syncthreads();
  // The same threads, numbered along the columns of the tile.
  const int thread = threadIdx.y * kBlockX + threadIdx.x;
  const int row = thread % kBlockY;
  const int column = thread / kBlockY;
  const int to_x = blockIdx.x * kBlockX + column;
  const int to_y = blockIdx.y * kBlockY + row;
  if (to_x < width && to_y < height) out[to_x * height + to_y] = tile[row][column];
}
