// Rows of a table, chosen by 64-bit numbers; those out of range give zeros.
#include "attack.hpp"
// kernel begin
__global__ void embed(const float* table, const long long* ids, float* out, long long count, int width, long long rows) {
  const long long i = (long long)blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count * width) return;
  const long long id = ids[i / width];
  out[i] = id >= 0 && id < rows ? table[id * width + i % width] : 0.0f;
}
// kernel end
int main() {
  const int count = 50, width = 24, rows = 300;
  auto* ids = filled<long long>(count, [](int i) { return (long long)(bits(i) % 300); });
  float* out = zeros<float>(count * width);
  embed<<<5, 256>>>(numbers(rows * width), ids, out, count, width, rows);
  return told(out, count * width);
}
