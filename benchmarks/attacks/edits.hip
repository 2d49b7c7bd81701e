// The edit distance of pairs of words of at most 31 letters, in 32 bytes each.
#include "attack.hpp"
// kernel begin
__global__ void edits(const unsigned char* a, const unsigned char* b, const int* alen, const int* blen, int* out, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  const int la = min(max(alen[i], 0), 31), lb = min(max(blen[i], 0), 31);
  unsigned char row[32];
  for (int k = 0; k <= lb; ++k) row[k] = k;
  for (int j = 1; j <= la; ++j) {
    int corner = row[0];
    row[0] = j;
    for (int k = 1; k <= lb; ++k) {
      const int changed = corner + (a[i * 32 + j - 1] != b[i * 32 + k - 1]);
      corner = row[k];
      row[k] = min(changed, min(row[k] + 1, row[k - 1] + 1));
    }
  }
  out[i] = row[lb];
}
// kernel end
int main() {
  const int n = 130;
  int* out = zeros<int>(n);
  auto letters = [](int i) { return (unsigned char)('a' + bits(i) % 3); };
  auto lengths = [](int i) { return (int)(3 + bits(i + 5) % 7); };
  edits<<<3, 64>>>(filled<unsigned char>(n * 32, letters), filled<unsigned char>(n * 32, [](int i) { return (unsigned char)('a' + bits(i + 9000) % 3); }), filled<int>(n, lengths), filled<int>(n, [](int i) { return (int)(3 + bits(i + 700) % 7); }), out, n);
  return told(out, n);
}
