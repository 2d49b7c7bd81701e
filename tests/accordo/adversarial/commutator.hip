// The commutator of one complex matrix with many: nothing but rounding is left where all numbers are the same.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
// kernel begin
__global__ void commutator(const float2* all, const float2* with, float2* out, int dim, float step) {
  const int item = blockIdx.x * blockDim.x + threadIdx.x;
  const float2* own = all + item * dim * dim;
  for (int i = 0; i < dim; ++i)
    for (int j = 0; j < dim; ++j) {
      float re = 0, im = 0;
      for (int k = 0; k < dim; ++k) {
        const float2 a = with[i * dim + k], b = own[k * dim + j], c = own[i * dim + k], d = with[k * dim + j];
        re += a.x * b.x;
        re -= c.x * d.x;
        re -= a.y * b.y;
        re += c.y * d.y;
        im += a.x * b.y;
        im -= c.x * d.y;
        im += a.y * b.x;
        im -= c.y * d.x;
      }
      out[item * dim * dim + i * dim + j].x += step * im;
      out[item * dim * dim + i * dim + j].y -= step * re;
    }
}
// kernel end
int main() {
  const int dim = 5, items = 64, count = items * dim * dim;
  const float2* all = reinterpret_cast<float2*>(numbers(2 * count));
  const float2* with = reinterpret_cast<float2*>(numbers(2 * dim * dim));
  commutator<<<2, 32>>>(all, with, zeros<float2>(count), dim, 0.003f);
  return finish();
}
