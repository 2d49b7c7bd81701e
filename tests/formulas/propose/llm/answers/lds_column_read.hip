// belief: {"finding": "F1", "edit": "one more column", "mechanism": "a column of 32 rows no longer lies in one bank", "metric": "lds_conflict_cycles", "direction": "down", "expected_percent": 90}
__global__ void smooth_transpose(const float* in, float* out, int width, int height) {
  __shared__ float tile[kTile][kTile + 1];  // a column lies in as many banks as it has rows
  const int left = blockIdx.x * kTile;
  const int top = blockIdx.y * kTile;

  for (int r = threadIdx.y; r < kTile; r += kRows) {
    const int x = left + threadIdx.x;
    const int y = top + r;
    tile[r][threadIdx.x] = x < width && y < height ? in[y * width + x] : 0.0f;
  }
  __syncthreads();

  for (int r = threadIdx.y; r < kTile; r += kRows) {
    float sum = 0.0f;
    for (int k = 0; k < kWindow; ++k) sum += tile[threadIdx.x][(r + k) % kTile];
    const int x = left + r;
    const int y = top + threadIdx.x;
    if (x < width && y < height) out[x * height + y] = sum / kWindow;
  }
}
