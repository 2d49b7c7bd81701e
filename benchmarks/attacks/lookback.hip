// A running sum in one launch: each workgroup adds up what those before it have left (parts without carry, then with it).
#include "attack.hpp"
// kernel begin
__global__ void lookback(const int* in, int* out, int* parts, int* sums, unsigned* state, unsigned* tickets, int n) {
  __shared__ int scan[256];
  __shared__ int mine, carry;
  const int t = threadIdx.x;
  if (t == 0) mine = atomicAdd(tickets, 1u);
  __syncthreads();
  const int me = mine, i = me * blockDim.x + t;
  scan[t] = i < n ? in[i] : 0;
  __syncthreads();
  for (int step = 1; step < blockDim.x; step *= 2) {
    const int left = t >= step ? scan[t - step] : 0;
    __syncthreads();
    scan[t] += left;
    __syncthreads();
  }
  if (t == 0) {
    const int all = scan[blockDim.x - 1];
    atomicExch(parts + me, all);
    __threadfence();
    atomicExch(state + me, 1u);
    int before = 0;
    for (int j = me - 1; j >= 0;) {
      const unsigned found = atomicAdd(state + j, 0u);
      __threadfence();
      if (found == 2u) {
        before += atomicAdd(sums + j, 0);
        break;
      }
      if (found == 1u) before += atomicAdd(parts + j--, 0);
    }
    atomicExch(sums + me, before + all);
    __threadfence();
    atomicExch(state + me, 2u);
    carry = before;
  }
  __syncthreads();
  if (i < n) out[i] = carry + scan[t];
}
// kernel end
int main() {
  const int n = 5000, groups = 20;
  int* out = zeros<int>(n);
  lookback<<<groups, 256>>>(upto<int>(n, 100), out, zeros<int>(groups), zeros<int>(groups), zeros<unsigned>(groups), zeros<unsigned>(1), n);
  return told(out, n);
}
