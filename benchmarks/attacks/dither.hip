// Rows of grey become few levels; what each point loses goes to the next one of its row.
#include "attack.hpp"
// kernel begin
__global__ void dither(const unsigned char* grey, unsigned char* out, int* lost, int w, int h, int levels, int serpentine) {
  const int y = blockIdx.x * blockDim.x + threadIdx.x;
  if (y >= h) return;
  const bool back = serpentine && (y & 1);
  int error = 0, most = 0;
  for (int k = 0; k < w; ++k) {
    const int x = back ? w - 1 - k : k, wanted = grey[(size_t)y * w + x] + error;
    const int level = min(max((wanted * (levels - 1) + 127) / 255, 0), levels - 1);
    const int shown = levels > 1 ? level * 255 / (levels - 1) : 0;
    error = wanted - shown;
    most = max(most, abs(error));
    out[(size_t)y * w + x] = (unsigned char)shown;
  }
  lost[y] = most;
}
// kernel end
int main() {
  const int w = 70, h = 90;
  auto* grey = upto<unsigned char>(w * h, 256);
  auto* out = zeros<unsigned char>(w * h);
  int* lost = zeros<int>(h);
  dither<<<2, 64>>>(grey, out, lost, w, h, 4, 1);
  return told(out, w * h) + told(lost, h);
}
