// belief: {"finding": "F2", "edit": "sequential partners", "mechanism": "neighbouring threads read neighbouring elements", "metric": "lds_conflict_cycles", "direction": "down", "expected_percent": 80}
__global__ void block_sums(const unsigned* values, unsigned long long* sums, unsigned count) {
  __shared__ unsigned long long partial[kBlock];
  const unsigned thread = threadIdx.x;
  const unsigned i = blockIdx.x * kBlock + thread;
  const unsigned long long value = i < count ? values[i] : 0;
  partial[thread] = value * value;
  __syncthreads();
  for (unsigned half = kBlock / 2; half > 0; half /= 2) {
    if (thread < half) partial[thread] += partial[thread + half];
    __syncthreads();
  }
  if (thread == 0) sums[blockIdx.x] = partial[0];
}
