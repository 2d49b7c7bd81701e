// Counts by atomic operations, in LDS first.
#include "harness.hpp"

constexpr int kBins = 64;

__global__ void histogram(const unsigned* values, unsigned* bins, int n) {
  __shared__ unsigned local[kBins];
  if (threadIdx.x < kBins) local[threadIdx.x] = 0;
  __syncthreads();
  for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
    atomicAdd(&local[values[i] % kBins], 1u);
  }
  __syncthreads();
  if (threadIdx.x < kBins) atomicAdd(&bins[threadIdx.x], local[threadIdx.x]);
}

int main() {
  const int n = 6000;
  std::vector<unsigned> values(n);
  unsigned seed = 6;
  for (unsigned& v : values) v = (seed = seed * 1664525u + 1013904223u) >> 8;
  unsigned *dv = upload(values), *db = upload(std::vector<unsigned>(kBins));
  histogram<<<6, 256>>>(dv, db, n);
  check(hipDeviceSynchronize());
  const auto r = download(db, kBins);
  std::vector<unsigned> expected(kBins);
  for (unsigned v : values) ++expected[v % kBins];
  return verdict(r == expected);
}
