// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void mark(unsigned* words, const unsigned* key, unsigned* first, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned expected = 0;
  const unsigned bit = 1u << (key[i] & 31);
  while (!__hip_atomic_compare_exchange_strong(&words[key[i] >> 5], &expected, expected | bit, __ATOMIC_RELAXED,
                                               __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT)) {
  }
  if ((expected & bit) == 0) first[key[i]] = i;
}
