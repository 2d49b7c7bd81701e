// Sums of rows, weighted; what is read and written lies behind the pointers of a structure with numbers of its own.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
struct Row {
  const float* data;
  int length;
  __host__ __device__ float at(int j) const { return data[j]; }
};
struct Table {
  const float* cells;
  const float* weights;
  float* sums;
  float scale;
  int rows, columns;
  __host__ __device__ Row row(int i) const { return {cells + i * columns, columns}; }
};
// kernel begin
__global__ void views(Table t) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= t.rows) return;
  const Row row = t.row(i);
  float sum = 0.0f;
  for (int j = 0; j < row.length; ++j) sum += row.at(j) * t.weights[j];
  t.sums[i] = t.scale * sum;
}
// kernel end
int main() {
  const int rows = 150, columns = 61;
  views<<<3, 64>>>({numbers(rows * columns), numbers(columns), numbers(rows), 0.7f, rows, columns});
  return finish();
}
