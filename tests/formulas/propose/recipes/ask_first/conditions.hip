// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]], "disjoint": ["level", "best", "queue", "size"]}
#include <hip/hip_runtime.h>
__global__ void k(const int* edges, int* level, int* best, int* queue, int* size, int depth, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  int to = edges[i];
  if (i < n && atomicCAS(&level[to], -1, depth) == -1) queue[atomicAdd(size, 1)] = to;
  if (atomicMax(&best[to], i) >= i) return;
  queue[i] = to;
}
