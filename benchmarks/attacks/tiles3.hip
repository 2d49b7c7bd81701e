// Each volume of a batch is transposed in x and y by tiles in LDS, a batch along z.
#include "attack.hpp"
// kernel begin
__global__ void tiles3(const float* in, float* out, int w, int h, int batch, int stride) {
  __shared__ float tile[16][17];
  const int b = blockIdx.z;
  if (b >= batch) return;
  const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
  if (x < w && y < h) tile[threadIdx.y][threadIdx.x] = in[b * stride + y * w + x];
  __syncthreads();
  const int to_x = blockIdx.y * 16 + threadIdx.x, to_y = blockIdx.x * 16 + threadIdx.y;
  if (to_x < h && to_y < w) out[b * stride + to_y * h + to_x] = tile[threadIdx.x][threadIdx.y];
}
// kernel end
int main() {
  const int w = 40, h = 56, batch = 3, stride = 40 * 56;
  float* out = zeros<float>(batch * stride);
  tiles3<<<dim3(3, 4, 3), dim3(16, 16)>>>(numbers(batch * stride), out, w, h, batch, stride);
  return told(out, batch * stride);
}
