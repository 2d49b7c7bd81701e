// Two sorted lists merged into one; of equal ones those of the first list come first.
#include "attack.hpp"
// kernel begin
__global__ void merged(const int* a, const int* b, int* out, int na, int nb) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= na + nb) return;
  const bool first = i < na;
  const int mine = first ? a[i] : b[i - na];
  const int* other = first ? b : a;
  int low = 0, high = first ? nb : na;
  while (low < high) {
    const int mid = low + (high - low) / 2;
    if (first ? other[mid] < mine : other[mid] <= mine) low = mid + 1;
    else high = mid;
  }
  out[(first ? i : i - na) + low] = mine;
}
// kernel end
int main() {
  const int na = 500, nb = 400;
  int* out = zeros<int>(na + nb);
  merged<<<8, 128>>>(filled<int>(na, [](int i) { return 3 * i; }), filled<int>(nb, [](int i) { return 4 * i + 1 - i % 4; }), out, na, nb);
  return told(out, na + nb);
}
