// A template that takes what to do as a function object.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
struct Affine {
  float a, b;
  bool inverse;
  __device__ float operator()(float x) const { return inverse ? (x - b) / a : a * x + b; }
};
// kernel begin
template <typename T, class F>
__global__ void functor(const T* in, T* out, int n, F f) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) out[i] = f(in[i]);
}
// kernel end
int main() {
  const int n = 300;
  functor<<<5, 64>>>(numbers(n), zeros<float>(n), n, Affine{1.5f, 2.0f, false});
  return finish();
}
