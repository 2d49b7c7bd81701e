// Runs of equal numbers in rows: how long the run is that begins at each place (0 where none begins), at most `most`.
#include "attack.hpp"
// kernel begin
__global__ void runs(const int* in, int* lengths, int* counts, int rows, int cols, int most, int gap) {
  const int row = blockIdx.y, at = blockIdx.x * blockDim.x + threadIdx.x;
  if (row >= rows || at >= cols) return;
  const int* line = in + (size_t)row * cols;
  const int value = line[at];
  int length = 0;
  if (value != gap && (at == 0 || line[at - 1] != value)) {
    length = 1;
    while (at + length < cols && line[at + length] == value && length < most) ++length;
    atomicAdd(&counts[row], 1);
  }
  lengths[(size_t)row * cols + at] = length;
}
// kernel end
int main() {
  const int rows = 9, cols = 150;
  int *lengths = zeros<int>(rows * cols), *counts = zeros<int>(rows);
  auto* in = filled<int>(rows * cols, [](int i) { return (int)(bits(i / 4) % 6); });
  runs<<<dim3(3, rows), 64>>>(in, lengths, counts, rows, cols, 100, 0);
  return told(lengths, rows * cols) + told(counts, rows);
}
