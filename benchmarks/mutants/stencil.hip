// A row with its neighbours in LDS, halo of one.
#include "harness.hpp"

constexpr int kBlock = 128;

__global__ void blur(const float* in, float* out, int n) {
  __shared__ float row[kBlock + 2];
  const int i = blockIdx.x * kBlock + threadIdx.x;
  const int at = threadIdx.x + 1;
  row[at] = i < n ? in[i] : 0.0f;
  if (threadIdx.x == 0) row[0] = i > 0 && i <= n ? in[i - 1] : 0.0f;
  if (threadIdx.x == kBlock - 1) row[kBlock + 1] = i + 1 < n ? in[i + 1] : 0.0f;
  __syncthreads();
  if (i < n) out[i] = 0.25f * row[at - 1] + 0.5f * row[at] + 0.25f * row[at + 1];
}

int main() {
  const int n = 3000;
  const auto in = numbers<float>(n, 3);
  float *di = upload(in), *dout = upload(std::vector<float>(n));
  blur<<<(n + kBlock - 1) / kBlock, kBlock>>>(di, dout, n);
  check(hipDeviceSynchronize());
  const auto r = download(dout, n);
  bool ok = true;
  for (int i = 0; i < n; ++i) {
    const float l = i > 0 ? in[i - 1] : 0.0f, h = i + 1 < n ? in[i + 1] : 0.0f;
    ok = ok && r[i] == 0.25f * l + 0.5f * in[i] + 0.25f * h;
  }
  return verdict(ok);
}
