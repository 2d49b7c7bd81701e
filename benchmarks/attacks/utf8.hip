// Letters of a text in UTF-8: for each byte the letter that begins there, -1 within one, -2 where none can begin or it is cut off.
#include "attack.hpp"
// kernel begin
__global__ void utf8(const unsigned char* text, int* letters, int bytes) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= bytes) return;
  const unsigned char first = text[i];
  int letter, more = 0;
  if (first < 0x80) letter = first;
  else if (first < 0xc0) letter = -1;
  else if (first < 0xe0) letter = first & 31, more = 1;
  else if (first < 0xf0) letter = first & 15, more = 2;
  else if (first < 0xf8) letter = first & 7, more = 3;
  else letter = -2;
  for (int k = 1; k <= more; ++k) {
    if (i + k >= bytes || (text[i + k] & 0xc0) != 0x80) {
      letter = -2;
      break;
    }
    letter = letter << 6 | (text[i + k] & 63);
  }
  letters[i] = letter;
}
// kernel end
int main() {
  const int n = 2000;
  auto* text = filled<unsigned char>(n, [](int i) {
    const uint32_t r = bits(i / 2) % 5;
    return (unsigned char)(i % 2 == 0 ? (r == 0 ? 0xc3 : 'a' + r) : (r == 0 ? 0x80 + bits(i) % 64 : ' ' + r));
  });
  int* letters = zeros<int>(n);
  utf8<<<16, 128>>>(text, letters, n);
  return told(letters, n);
}
