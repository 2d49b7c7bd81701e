// Inclusive sums within workgroups, and the total of each.
#include "attack.hpp"
// kernel begin
__global__ void blockscan(const int* in, int* out, long long* totals, int n) {
  __shared__ int part[1024];
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  part[threadIdx.x] = i < n ? in[i] : 0;
  __syncthreads();
  for (int step = 1; step < blockDim.x; step *= 2) {
    const int before = threadIdx.x >= step ? part[threadIdx.x - step] : 0;
    __syncthreads();
    part[threadIdx.x] += before;
    __syncthreads();
  }
  if (i < n) out[i] = part[threadIdx.x];
  if (threadIdx.x == blockDim.x - 1) totals[blockIdx.x] = part[threadIdx.x];
}
// kernel end
int main() {
  const int n = 1900;
  int* out = zeros<int>(n);
  long long* totals = zeros<long long>(8);
  blockscan<<<8, 256>>>(upto<int>(n, 1000), out, totals, n);
  return told(out, n) + told(totals, 8);
}
