// Sums of blocks, tree in LDS, a barrier per level, doubles.
#include "harness.hpp"

constexpr int kBlock = 256;

__global__ void block_sum(const double* in, double* sums, int n) {
  __shared__ double part[kBlock];
  const int i = blockIdx.x * kBlock + threadIdx.x;
  part[threadIdx.x] = i < n ? in[i] : 0.0;
  __syncthreads();
  for (int s = kBlock / 2; s > 0; s >>= 1) {
    if (threadIdx.x < s) part[threadIdx.x] += part[threadIdx.x + s];
    __syncthreads();
  }
  if (threadIdx.x == 0) sums[blockIdx.x] = part[0];
}

int main() {
  const int n = 5000, groups = (n + kBlock - 1) / kBlock;
  const auto in = numbers<double>(n, 4);
  double *di = upload(in), *ds = upload(std::vector<double>(groups));
  block_sum<<<groups, kBlock>>>(di, ds, n);
  check(hipDeviceSynchronize());
  const auto r = download(ds, groups);
  bool ok = true;
  for (int g = 0; g < groups; ++g) {
    double sum = 0;
    for (int i = g * kBlock; i < n && i < (g + 1) * kBlock; ++i) sum += in[i];
    ok = ok && r[g] == sum;  // quarters: exact in any order
  }
  return verdict(ok);
}
