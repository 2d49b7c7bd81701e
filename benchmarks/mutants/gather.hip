// Reads through a table of indices.
#include "harness.hpp"

__global__ void gather(const int* index, const float* table, float* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int at = index[i];
  out[i] = at >= 0 ? table[at] : -1.0f;
}

int main() {
  const int n = 1500, m = 700;
  const auto table = numbers<float>(m, 5);
  std::vector<int> index(n);
  for (int i = 0; i < n; ++i) index[i] = i % 9 == 8 ? -1 : (i * 37) % m;
  int* di = upload(index);
  float *dt = upload(table), *dout = upload(std::vector<float>(n));
  gather<<<(n + 63) / 64, 64>>>(di, dt, dout, n);
  check(hipDeviceSynchronize());
  const auto r = download(dout, n);
  bool ok = true;
  for (int i = 0; i < n; ++i) ok = ok && r[i] == (index[i] >= 0 ? table[index[i]] : -1.0f);
  return verdict(ok);
}
