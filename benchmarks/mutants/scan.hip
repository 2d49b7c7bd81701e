// Inclusive prefix sums of blocks of 64-bit integers.
#include "harness.hpp"

constexpr int kBlock = 128;

__global__ void scan(const long long* in, long long* out, int n) {
  __shared__ long long part[2][kBlock];
  const int i = blockIdx.x * kBlock + threadIdx.x;
  int from = 0;
  part[from][threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (int step = 1; step < kBlock; step *= 2) {
    const int to = 1 - from;
    part[to][threadIdx.x] = part[from][threadIdx.x] + (threadIdx.x >= step ? part[from][threadIdx.x - step] : 0);
    from = to;
    __syncthreads();
  }
  if (i < n) out[i] = part[from][threadIdx.x];
}

int main() {
  const int n = 1000;
  std::vector<long long> in(n);
  for (int i = 0; i < n; ++i) in[i] = (i * 7919LL) % 1001 - 500;
  long long *di = upload(in), *dout = upload(std::vector<long long>(n));
  scan<<<(n + kBlock - 1) / kBlock, kBlock>>>(di, dout, n);
  check(hipDeviceSynchronize());
  const auto r = download(dout, n);
  bool ok = true;
  long long sum = 0;
  for (int i = 0; i < n; ++i) {
    if (i % kBlock == 0) sum = 0;
    sum += in[i];
    ok = ok && r[i] == sum;
  }
  return verdict(ok);
}
