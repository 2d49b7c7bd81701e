// The nearest of some boxes that each ray meets, by slabs: its number and how far it is, -1 and infinity where it meets none.
#include "attack.hpp"
// kernel begin
__global__ void boxes(const float* origins, const float* ways, const float* lows, const float* highs, int* hit, float* far, int rays, int count, float longest) {
  const int r = blockIdx.x * blockDim.x + threadIdx.x;
  if (r >= rays) return;
  float best = INFINITY;
  int which = -1;
  for (int b = 0; b < count; ++b) {
    float enter = 0.0f, leave = longest;
    for (int k = 0; k < 3; ++k) {
      const float o = origins[3 * r + k], d = ways[3 * r + k];
      const float low = lows[3 * b + k], high = highs[3 * b + k];
      if (d == 0.0f) {
        if (o < low || o > high) leave = -1.0f;
        continue;
      }
      const float one = (low - o) / d, other = (high - o) / d;
      enter = fmaxf(enter, fminf(one, other));
      leave = fminf(leave, fmaxf(one, other));
    }
    if (enter <= leave && enter < best) {
      best = enter;
      which = b;
    }
  }
  hit[r] = which;
  far[r] = best;
}
// kernel end
int main() {
  const int rays = 200, count = 30;
  int* hit = zeros<int>(rays);
  float* far = zeros<float>(rays);
  auto* lows = filled<float>(3 * count, [](int i) { return number(i + 9000); });
  auto* highs = filled<float>(3 * count, [](int i) { return number(i + 9000) + 2 + bits(i) % 5; });
  boxes<<<4, 64>>>(numbers(3 * rays), filled<float>(3 * rays, [](int i) { return bits(i + 3) % 11 == 0 ? 0.0f : number(i + 5000); }), lows, highs, hit, far, rays, count, 50.0f);
  return told(hit, rays) + told(far, rays);
}
