// facts: {"launches": [[[512, 512, 1], [32, 32, 1], {"width": 500, "height": 510, "out.ld": 510}]], "member_pointers": {"out.data": "float"}}
#include <hip/hip_runtime.h>
struct Matrix {
  float* data;
  int ld;
  __device__ float* operator[](int row) const { return data + row * ld; }
};
__device__ __forceinline__ int flat(int row, int column, int ld) { return row * ld + column; }
__global__ void k(const float* in, Matrix out, int width, int height) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  out[x][y] = in[flat(y, x, width)];
}
