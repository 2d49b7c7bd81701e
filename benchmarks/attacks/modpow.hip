// Powers modulo a number, by squares.
#include "attack.hpp"
// kernel begin
__global__ void modpow(const unsigned* base, const unsigned* exponent, unsigned* out, int n, unsigned modulus) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n || modulus == 0) return;
  unsigned long long power = base[i] % modulus, result = 1 % modulus;
  for (unsigned e = exponent[i]; e != 0; e >>= 1) {
    if (e & 1) result = result * power % modulus;
    power = power * power % modulus;
  }
  out[i] = (unsigned)result;
}
// kernel end
int main() {
  const int n = 500;
  auto* out = zeros<unsigned>(n);
  modpow<<<4, 128>>>(upto<unsigned>(n, 100000), upto<unsigned>(n, 5000), out, n, 10007u);
  return told(out, n);
}
