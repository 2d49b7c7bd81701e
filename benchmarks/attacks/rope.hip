// Rotary embedding in place: pairs of a head's halves turned by an angle of the token's position.
#include "attack.hpp"
// kernel begin
__global__ void rope(float* x, const int* positions, int tokens, int heads, int half, float base) {
  const int at = blockIdx.x * blockDim.x + threadIdx.x;
  if (at >= tokens * heads * half) return;
  const int i = at % half, head = at / half % heads, token = at / half / heads;
  const float angle = positions[token] * powf(base, -(float)i / half);
  float* both = x + ((size_t)token * heads + head) * 2 * half;
  const float a = both[i], b = both[i + half], c = cosf(angle), s = sinf(angle);
  both[i] = a * c - b * s;
  both[i + half] = b * c + a * s;
}
// kernel end
int main() {
  const int tokens = 30, heads = 4, half = 16;
  float* x = numbers(tokens * heads * half * 2);
  int* positions = filled<int>(tokens, [](int i) { return i; });
  rope<<<15, 128>>>(x, positions, tokens, heads, half, 10000.0f);
  return told(x, tokens * heads * half * 2);
}
