// Matrix product by tiles in LDS, sizes that are no multiple of the tile.
#include "harness.hpp"

constexpr int kTile = 16;

__global__ void matmul(const float* a, const float* b, float* c, int m, int n, int k) {
  __shared__ float ta[kTile][kTile];
  __shared__ float tb[kTile][kTile];
  const int row = blockIdx.y * kTile + threadIdx.y;
  const int column = blockIdx.x * kTile + threadIdx.x;
  float sum = 0.0f;
  for (int t = 0; t < k; t += kTile) {
    ta[threadIdx.y][threadIdx.x] = row < m && t + threadIdx.x < k ? a[row * k + t + threadIdx.x] : 0.0f;
    tb[threadIdx.y][threadIdx.x] = t + threadIdx.y < k && column < n ? b[(t + threadIdx.y) * n + column] : 0.0f;
    __syncthreads();
    for (int i = 0; i < kTile; ++i) sum += ta[threadIdx.y][i] * tb[i][threadIdx.x];
    __syncthreads();
  }
  if (row < m && column < n) c[row * n + column] = sum;
}

int main() {
  const int m = 45, n = 52, k = 37;
  const auto a = numbers<float>(m * k, 8), b = numbers<float>(k * n, 9);
  float *da = upload(a), *db = upload(b), *dc = upload(std::vector<float>(m * n));
  matmul<<<dim3((n + kTile - 1) / kTile, (m + kTile - 1) / kTile), dim3(kTile, kTile)>>>(da, db, dc, m, n, k);
  check(hipDeviceSynchronize());
  const auto c = download(dc, m * n);
  bool ok = true;
  for (int i = 0; i < m; ++i)
    for (int j = 0; j < n; ++j) {
      double sum = 0;
      for (int x = 0; x < k; ++x) sum += static_cast<double>(a[i * k + x]) * b[x * n + j];
      ok = ok && std::abs(c[i * n + j] - sum) <= 1e-5 * (1 + std::abs(sum)) * k;
    }
  return verdict(ok);
}
