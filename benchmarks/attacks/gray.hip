// Colours to gray, rows with a pitch.
#include "attack.hpp"
// kernel begin
__global__ void gray(const unsigned char* rgb, unsigned char* out, int width, int height, int pitch, int gain) {
  const int x = blockIdx.x * blockDim.x + threadIdx.x;
  const int y = blockIdx.y * blockDim.y + threadIdx.y;
  if (x >= width || y >= height) return;
  const unsigned char* p = rgb + y * pitch + 3 * x;
  int value = (p[0] * 77 + p[1] * 150 + p[2] * 29) * gain >> 12;
  out[y * width + x] = value > 255 ? 255 : value < 0 ? 0 : value;
}
// kernel end
int main() {
  const int width = 100, height = 40, pitch = 320;
  auto* out = zeros<unsigned char>(width * height);
  gray<<<dim3(4, 5), dim3(32, 8)>>>(upto<unsigned char>(pitch * height, 256), out, width, height, pitch, 16);
  return told(out, width * height);
}
