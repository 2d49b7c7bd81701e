// facts: {"launches": [[[64, 64, 1], [16, 16, 1], {}, {}]], "disjoint": ["in", "keys", "out"]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, const int* keys, float* out, int n) {
  __shared__ float tile[16];
  const int keys_value = keys[blockIdx.x * n + threadIdx.x];
  tile[threadIdx.x] = in[threadIdx.x];
  __syncthreads();
  {
    const int key = keys_value;
    out[key] = tile[key & 15];
  }
}
