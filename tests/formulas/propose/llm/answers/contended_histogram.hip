// belief: {"finding": "F1", "edit": "bins in LDS", "mechanism": "only whole counts go to memory", "metric": "time_ns", "direction": "down", "expected_percent": 80}
__global__ void histogram(const float* energy, unsigned* bins, int count) {
  __shared__ unsigned own[kBins];
  const int thread = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const int threads = blockDim.x * blockDim.y * blockDim.z;
  for (int bin = thread; bin < kBins; bin += threads) own[bin] = 0;
  __syncthreads();
  const int stride = gridDim.x * blockDim.x;
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < count; i += stride) {
    int bin = static_cast<int>(energy[i]);
    bin = bin < 0 ? 0 : bin >= kBins ? kBins - 1 : bin;
    atomicAdd(&own[bin], 1u);
  }
  __syncthreads();
  for (int bin = thread; bin < kBins; bin += threads) {
    if (own[bin] != 0) atomicAdd(&bins[bin], own[bin]);
  }
}
