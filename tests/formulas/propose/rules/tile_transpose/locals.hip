// facts: {"launches": [[[512, 512, 1], [32, 32, 1], {"width": 500, "height": 510, "out.ld": 510, "in.ld": 500}]], "member_pointers": {"out.data": "float", "in.data": "float"}}
#include <hip/hip_runtime.h>
struct Matrix {
  float* data;
  int ld;
  __device__ float& at(int row, int column) const { return data[row * ld + column]; }
};
__global__ void k(const Matrix in, Matrix out, int width, int height) {
  const auto to = out;
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  const float* row = in.data + y * in.ld;
  if (x < width && y < height) to.at(x, y) = row[x];
}
