// The largest of each row and where it is; a loop per thread with a branch.
#include "harness.hpp"

__global__ void row_max(const float* rows, float* largest, int* where, int width, int height) {
  const int y = blockIdx.x * blockDim.x + threadIdx.x;
  if (y >= height) return;
  float best = rows[y * width];
  int at = 0;
  for (int x = 1; x < width; ++x) {
    const float v = rows[y * width + x];
    if (v > best) {
      best = v;
      at = x;
    }
  }
  largest[y] = best;
  where[y] = at;
}

int main() {
  const int width = 33, height = 300;
  const auto rows = numbers<float>(width * height, 7);
  float *dr = upload(rows), *dl = upload(std::vector<float>(height));
  int* dw = upload(std::vector<int>(height));
  row_max<<<(height + 63) / 64, 64>>>(dr, dl, dw, width, height);
  check(hipDeviceSynchronize());
  const auto l = download(dl, height);
  const auto w = download(dw, height);
  bool ok = true;
  for (int y = 0; y < height; ++y) {
    int at = 0;
    for (int x = 1; x < width; ++x)
      if (rows[y * width + x] > rows[y * width + at]) at = x;
    ok = ok && w[y] == at && l[y] == rows[y * width + at];
  }
  return verdict(ok);
}
