// What is above a limit, in any order: places by ballots and one atomic for each wave.
#include "attack.hpp"
// kernel begin
__global__ void compacted(const float* in, int* flags, int* count, int n, float limit) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  const bool keep = i < n && in[i] > limit;
  const unsigned long long kept = __ballot(keep);
  const int lane = threadIdx.x % 64;
  if (lane == 0 && kept != 0) atomicAdd(count, __popcll(kept));
  if (i < n) flags[i] = keep ? __popcll(kept & ((1ull << lane) - 1)) : -1;
}
// kernel end
int main() {
  const int n = 1900;
  int *flags = zeros<int>(n), *count = zeros<int>(1);
  compacted<<<8, 256>>>(numbers(n), flags, count, n, 0.0f);
  return told(flags, n) + told(count, 1);
}
