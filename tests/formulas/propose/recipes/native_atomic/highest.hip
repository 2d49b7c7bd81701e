// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void highest(long long* best, long long* before, const long long* score, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  for (long long now = best[i & 7];;) {
    const long long next = now > score[i] ? now : score[i];
    if (next == now) break;
    const auto seen =
        (long long)atomicCAS((unsigned long long*)&best[i & 7], (unsigned long long)now, (unsigned long long)next);
    if (seen == now) break;
    now = seen;
  }
}
