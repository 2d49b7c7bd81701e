// facts: {"launches": [[[64, 1, 1], [64, 1, 1], {}, {"in": 16384}]], "elements": {"in": "float"}}
#include <hip/hip_runtime.h>

template <typename T>
__global__ void pick(T* out, const T* in, int n) {
  __shared__ int row[2];
  const int x = threadIdx.x;
  row[x & 1] = x;
  __syncthreads();
  T value = 1;
  const bool inside = x < n;
  const int row_value = row[1];
  const T in_value = in[inside ? row_value * n + x : 0];
  value = inside ? in_value : value;
  out[x] = value;
}
template __global__ void pick<float>(float*, const float*, int);
