// facts: {"launches": [[[512, 512, 1], [32, 32, 1], {"in.nx": 500, "in.ny": 510, "out.nx": 500, "out.ny": 510}]], "member_pointers": {"in.data": "float", "out.data": "float"}}
#include <hip/hip_runtime.h>
#define HD __host__ __device__ __forceinline__
#define FLAT(i, j, ld) ((i) * (ld) + (j))
struct View {
  float* data;
  int nx, ny;
  HD float& at(int i, int j) { return data[FLAT(i, j, ny)]; }
  HD const float& at(int i, int j) const { return data[FLAT(i, j, ny)]; }
};
__global__ void k(const View in, View out) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x < in.nx && y < in.ny) out.at(x, y) = 2.0f * in.at(x, y);
}
