// A generator of random numbers for each work-item, 64 bits of state.
#include "attack.hpp"
// kernel begin
__global__ void rolls(unsigned long long* state, float* out, int n, int each) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  unsigned long long s = state[i];
  for (int k = 0; k < each; ++k) {
    s = s * 6364136223846793005ull + 1442695040888963407ull;
    const unsigned x = (unsigned)((s >> 18 ^ s) >> 27), r = s >> 59;
    out[(size_t)k * n + i] = (x >> r | x << (-r & 31)) * 2.3283064e-10f;
  }
  state[i] = s;
}
// kernel end
int main() {
  const int n = 500, each = 3;
  auto* state = filled<unsigned long long>(n, [](int i) { return (unsigned long long)i * 77 + 1; });
  float* out = zeros<float>(n * each);
  rolls<<<4, 128>>>(state, out, n, each);
  return told(out, n * each) + told(state, n);
}
