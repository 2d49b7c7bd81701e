// The values above a threshold, in order; a workgroup of one wave counts them by ballots.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void compact(const int* in, int* out, int* count, int n, int least) {
  int base = 0;
  for (int from = 0; from < n; from += 64) {
    const int i = from + threadIdx.x;
    const bool keep = threadIdx.x < 64 && i < n && in[i] >= least;
    const unsigned long long mask = __ballot(keep);
    if (keep) out[base + __popcll(mask & ((1ull << threadIdx.x) - 1))] = in[i];
    base += __popcll(mask);
  }
  if (threadIdx.x == 0) atomicAdd(count, base);
}
// kernel end
int main() {
  const int n = 300;
  int* in = filled<int>(n, [](int i) { return static_cast<int>(number(i) * 8) + 60; });
  compact<<<1, 64>>>(in, zeros<int>(n), zeros<int>(1), n, 60);
  return finish();
}
