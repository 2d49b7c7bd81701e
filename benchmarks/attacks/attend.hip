// Attention of one head, causal: one workgroup for each query, keys behind it do not count; a window of 0 is none.
#include "attack.hpp"
// kernel begin
__global__ void attend(const float* q, const float* k, const float* v, float* out, int keys, int depth, int window, float scale) {
  __shared__ float part[64];
  const int me = blockIdx.x, t = threadIdx.x;
  const int last = min(me + 1, keys), first = window > 0 ? max(last - window, 0) : 0;
  float top = -INFINITY;
  for (int j = first + t; j < last; j += 64) {
    float s = 0.0f;
    for (int d = 0; d < depth; ++d) s += q[me * depth + d] * k[j * depth + d];
    top = fmaxf(top, s * scale);
  }
  part[t] = top;
  __syncthreads();
  for (int i = 0; i < 64; ++i) top = fmaxf(top, part[i]);
  for (int d = t; d < depth; d += 64) {
    float sum = 0.0f, total = 0.0f;
    for (int j = first; j < last; ++j) {
      float s = 0.0f;
      for (int e = 0; e < depth; ++e) s += q[me * depth + e] * k[j * depth + e];
      const float weight = expf(s * scale - top);
      total += weight;
      sum += weight * v[j * depth + d];
    }
    out[me * depth + d] = sum / total;
  }
}
// kernel end
int main() {
  const int n = 40, depth = 24;
  float* out = zeros<float>(n * depth);
  attend<<<n, 64>>>(numbers(n * depth), numbers(n * depth), numbers(n * depth), out, n, depth, 0, 0.02f);
  return told(out, n * depth);
}
