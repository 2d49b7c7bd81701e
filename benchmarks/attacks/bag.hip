// The mean of rows of a table, chosen by lists of different lengths, one workgroup for each list; -1 is left out.
#include "attack.hpp"
// kernel begin
__global__ void bag(const float* table, const int* chosen, const int* begin, float* out, int lists, int width) {
  const int list = blockIdx.x;
  if (list >= lists) return;
  for (int c = threadIdx.x; c < width; c += blockDim.x) {
    float sum = 0.0f;
    int count = 0;
    for (int i = begin[list]; i < begin[list + 1]; ++i) {
      if (chosen[i] < 0) continue;
      sum += table[chosen[i] * width + c];
      ++count;
    }
    out[list * width + c] = count > 0 ? sum / count : 0.0f;
  }
}
// kernel end
int main() {
  const int lists = 40, width = 96, rows = 70;
  const int* begin = filled<int>(lists + 1, [](int i) { return 6 * i; });
  const int* chosen = filled<int>(6 * lists, [](int i) { return i % 11 == 3 ? -1 : static_cast<int>(bits(i) % 70); });
  float* out = zeros<float>(lists * width);
  bag<<<40, 64>>>(numbers(rows * width), chosen, begin, out, lists, width);
  return told(out, lists * width);
}
