// belief: {"finding": "F1", "edit": "neighbours on one XCD", "mechanism": "the queries of a block find it in one L2", "metric": "bytes from memory per byte loaded", "direction": "down", "expected_percent": 70}
__global__ void match(const float* table, const float* query, float* best) {
  __shared__ float part[kBlock];
  // Workgroups are dealt to eight XCDs in turn: give each XCD a run of neighbours.
  const unsigned share = gridDim.x / 8;
  const unsigned group = gridDim.x % 8 == 0 ? blockIdx.x % 8 * share + blockIdx.x / 8 : blockIdx.x;
  const float wanted = query[group % kQueries];
  const float* row = table + static_cast<std::size_t>(group / kQueries) * kBlock * kPerThread;
  float closest = 1e30f;
#pragma unroll
  for (int k = 0; k < kPerThread; ++k) {
    const float difference = row[k * kBlock + threadIdx.x] - wanted;
    closest = fminf(closest, difference * difference);
  }
  part[threadIdx.x] = closest;
  for (int step = kBlock / 2; step > 0; step /= 2) {
    __syncthreads();
    if (threadIdx.x < step) part[threadIdx.x] = fminf(part[threadIdx.x], part[threadIdx.x + step]);
  }
  if (threadIdx.x == 0) best[group] = part[0];
}
