// The place of the largest of each row; of equal ones the first, -1 where none is above -infinity. NaN is never largest.
#include "attack.hpp"
// kernel begin
__global__ void argmax(const float* in, int* places, int cols) {
  __shared__ float most[256];
  __shared__ int where[256];
  const float* row = in + (size_t)blockIdx.x * cols;
  float best = -INFINITY;
  int at = -1;
  for (int i = threadIdx.x; i < cols; i += blockDim.x)
    if (row[i] > best) {
      best = row[i];
      at = i;
    }
  most[threadIdx.x] = best;
  where[threadIdx.x] = at;
  __syncthreads();
  for (int s = blockDim.x / 2; s > 0; s /= 2) {
    if (threadIdx.x < s) {
      const float b = most[threadIdx.x + s];
      const int w = where[threadIdx.x + s], mine = where[threadIdx.x];
      if (w >= 0 && (mine < 0 || b > most[threadIdx.x] || (b == most[threadIdx.x] && w < mine))) {
        most[threadIdx.x] = b;
        where[threadIdx.x] = w;
      }
    }
    __syncthreads();
  }
  if (threadIdx.x == 0) places[blockIdx.x] = where[0];
}
// kernel end
int main() {
  const int rows = 24, cols = 600;
  int* places = zeros<int>(rows);
  argmax<<<rows, 128>>>(numbers(rows * cols), places, cols);
  return told(places, rows);
}
