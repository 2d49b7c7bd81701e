// facts: {"launches": [[[65536, 1, 1], [256, 1, 1], {}, {"sum_x": 64, "sum_y": 64, "members": 64, "labels": 262144}]]}
#include <hip/hip_runtime.h>
__global__ void k(const float2* points, const float2* centers, int* labels, float* sum_x, float* sum_y, int* members,
                  int clusters, int n) {
  constexpr unsigned bins_in_lds = 16;
  __shared__ float block_sum_x[bins_in_lds];
  __shared__ float block_sum_y[bins_in_lds];
  __shared__ int block_members[bins_in_lds];
  const unsigned thread_in_block = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
  const unsigned threads_of_block = blockDim.x * blockDim.y * blockDim.z;
  for (unsigned b = thread_in_block; b < bins_in_lds; b += threads_of_block) {
    block_sum_x[b] = 0;
    block_sum_y[b] = 0;
    block_members[b] = 0;
  }
  __syncthreads();

  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) {
    const float2 p = points[i];
    int best = 0;
    float least = 3e38f;
    for (int c = 0; c < clusters; ++c) {
      const float dx = p.x - centers[c].x, dy = p.y - centers[c].y;
      const float square = dx * dx + dy * dy;
      if (square < least) {
        least = square;
        best = c;
      }
    }
    labels[i] = best;
    if (static_cast<unsigned>(best) < bins_in_lds) {
      atomicAdd(&block_sum_x[best], p.x);
      atomicAdd(&block_sum_y[best], p.y);
      atomicAdd(&block_members[best], 1);
    } else {
      atomicAdd(&sum_x[best], p.x);
      atomicAdd(&sum_y[best], p.y);
      atomicAdd(&members[best], 1);
    }
  }

  // Add what this workgroup counted.
  __syncthreads();
  for (unsigned b = thread_in_block; b < bins_in_lds; b += threads_of_block) {
    if (block_sum_x[b] != 0) atomicAdd(&sum_x[b], block_sum_x[b]);
    if (block_sum_y[b] != 0) atomicAdd(&sum_y[b], block_sum_y[b]);
    if (block_members[b] != 0) atomicAdd(&members[b], block_members[b]);
  }
}
