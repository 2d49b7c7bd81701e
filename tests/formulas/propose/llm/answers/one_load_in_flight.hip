// belief: {"finding": "F1", "edit": "four rows at a time", "mechanism": "four loads are on the way before the first is used", "metric": "memory wait cycles per wave", "direction": "down", "expected_percent": 60}
__global__ void column_sums(const float* matrix, float* sums, int rows, int columns) {
  const int column = blockIdx.x * blockDim.x + threadIdx.x;
  if (column >= columns) return;
  float sum = 0.0f;
  int row = 0;
#pragma unroll 1
  for (; row + 4 <= rows; row += 4) {
    const float* at = matrix + row * columns + column;
    const float first = at[0], second = at[columns], third = at[2 * columns], fourth = at[3 * columns];
    sum += first;
    sum += second;
    sum += third;
    sum += fourth;
  }
  for (; row < rows; ++row) sum += matrix[row * columns + column];
  sums[column] = sum;
}
