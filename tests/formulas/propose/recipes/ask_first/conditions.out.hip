// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]], "disjoint": ["level", "best", "queue", "size"]}
#include <hip/hip_runtime.h>
__global__ void k(const int* edges, int* level, int* best, int* queue, int* size, int depth, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int to = edges[i];
  if (i < n && __hip_atomic_load(&level[to], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) == -1 && atomicCAS(&level[to], -1, depth) == -1) queue[atomicAdd(size, 1)] = to;
  if (__hip_atomic_load(&best[to], __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_AGENT) >= i || atomicMax(&best[to], i) >= i) return;
  queue[i] = to;
}
