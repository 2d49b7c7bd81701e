// belief: {"finding": "F1", "edit": "one atomic per workgroup", "mechanism": "waves add up by shuffles first", "metric": "time_ns", "direction": "down", "expected_percent": 60}
__global__ void sum_of_squares(const float* values, float* sum, int count) {
  __shared__ float parts[32];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  float value = i < count ? values[i] : 0.0f;
  value *= value;
  for (int step = warpSize / 2; step > 0; step /= 2) value += __shfl_down(value, step);
  if (threadIdx.x % warpSize == 0) parts[threadIdx.x / warpSize] = value;
  __syncthreads();
  if (threadIdx.x == 0) {
    float total = 0.0f;
    for (int wave = 0; wave < static_cast<int>((blockDim.x + warpSize - 1) / warpSize); ++wave) total += parts[wave];
    atomicAdd(sum, total);
  }
}
