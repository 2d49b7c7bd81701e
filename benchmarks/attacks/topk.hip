// The four largest of each row with their places; of equal ones the first ones. NaN is never among them.
#include "attack.hpp"
// kernel begin
__global__ void topk(const float* scores, int* places, float* values, int rows, int n) {
  const int row = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows) return;
  float best[4] = {-INFINITY, -INFINITY, -INFINITY, -INFINITY};
  int at[4] = {-1, -1, -1, -1};
  for (int i = 0; i < n; ++i) {
    const float v = scores[(size_t)row * n + i];
    if (!(v > best[3])) continue;
    int k = 3;
    while (k > 0 && v > best[k - 1]) {
      best[k] = best[k - 1];
      at[k] = at[k - 1];
      --k;
    }
    best[k] = v;
    at[k] = i;
  }
  for (int k = 0; k < 4; ++k) {
    places[row * 4 + k] = at[k];
    values[row * 4 + k] = best[k];
  }
}
// kernel end
int main() {
  const int rows = 150, n = 90;
  int* places = zeros<int>(rows * 4);
  float* values = zeros<float>(rows * 4);
  topk<<<3, 64>>>(filled<float>(rows * n, [](int i) { return number(i) + i * 1e-5f; }), places, values, rows, n);
  return told(places, rows * 4) + told(values, rows * 4);
}
