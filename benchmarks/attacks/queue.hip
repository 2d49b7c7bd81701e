// Rows of any length, taken by workgroups one after the other from a counter; each row's sum of squares.
#include "attack.hpp"
// kernel begin
__global__ void queue(const int* starts, const float* in, float* out, int* taken, int rows) {
  __shared__ float part[64];
  __shared__ int row;
  const int t = threadIdx.x;
  for (;;) {
    if (t == 0) row = atomicAdd(taken, 1);
    __syncthreads();
    const int r = row;
    if (r >= rows) break;
    float sum = 0.0f;
    for (int i = starts[r] + t; i < starts[r + 1]; i += blockDim.x) sum += in[i] * in[i];
    part[t] = sum;
    __syncthreads();
    if (t == 0) {
      float all = 0.0f;
      for (int i = 0; i < blockDim.x; ++i) all += part[i];
      out[r] = all;
    }
    __syncthreads();
  }
}
// kernel end
int main() {
  const int rows = 70;
  int at = 0;
  auto* starts = filled<int>(rows + 1, [at](int i) mutable { const int was = at; at += bits(i) % 90; return was; });
  float* out = zeros<float>(rows);
  queue<<<6, 64>>>(starts, numbers(rows * 90), out, zeros<int>(1), rows);
  return told(out, rows);
}
