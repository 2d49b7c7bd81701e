// Boxes that a better one of their class covers are struck out: one work-item for each box.
#include "attack.hpp"
// kernel begin
__global__ void nms(const float4* boxes, const float* scores, const int* classes, int* kept, int count, float most) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  const float4 own = boxes[i];
  const float area = (own.z - own.x) * (own.w - own.y);
  int keep = 1;
  for (int j = 0; j < count; ++j) {
    if (j == i || classes[j] != classes[i]) continue;
    if (scores[j] < scores[i] || (scores[j] == scores[i] && j > i)) continue;
    const float4 b = boxes[j];
    const float w = fminf(own.z, b.z) - fmaxf(own.x, b.x), h = fminf(own.w, b.w) - fmaxf(own.y, b.y);
    if (w <= 0.0f || h <= 0.0f) continue;
    const float both = w * h, all = area + (b.z - b.x) * (b.w - b.y) - both;
    if (both > most * all) keep = 0;
  }
  kept[i] = keep;
}
// kernel end
int main() {
  const int n = 150;
  auto* boxes = filled<float4>(n, [](int i) {
    const float x = bits(i) % 40, y = bits(i + 500) % 40;
    return make_float4(x, y, x + 4 + bits(i + 900) % 12, y + 4 + bits(i + 1300) % 12);
  });
  int* kept = zeros<int>(n);
  auto* scores = filled<float>(n, [](int i) { return (bits(i + 50) % 64) / 64.0f; });
  nms<<<3, 64>>>(boxes, scores, upto<int>(n, 5), kept, n, 0.3f);
  return told(kept, n);
}
