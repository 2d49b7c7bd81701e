// The first place of a sorted list that is not below each number; NaN is below nothing, so its place is 0.
#include "attack.hpp"
// kernel begin
__global__ void lowerbound(const float* edges, int count, const float* in, int* places, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const float v = in[i];
  int low = 0, high = count;
  while (low < high) {
    const int mid = low + (high - low) / 2;
    if (edges[mid] < v) low = mid + 1;
    else high = mid;
  }
  places[i] = low;
}
// kernel end
int main() {
  const int n = 1200, count = 65;
  int* places = zeros<int>(n);
  float* edges = filled<float>(count, [](int i) { return i * 0.25f - 8.0f; });
  lowerbound<<<10, 128>>>(edges, count, filled<float>(n, [](int i) { return number(i) + 0.003f; }), places, n);
  return told(places, n);
}
