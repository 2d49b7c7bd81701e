// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]], "disjoint": ["f.in", "f.scale", "f.out"], "member_pointers": {"f.in": "float", "f.scale": "float", "f.out": "float"}}
#include <hip/hip_runtime.h>
struct Fields {
  const float* in;
  const float* scale;
  float* out;
  int n;
  __device__ float& at(int i) const { return out[2 * i]; }
};
__global__ void k(Fields f) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= f.n) return;
  f.at(i) = f.in[i] * f.scale[0];
  f.out[2 * i + 1] = 2.0f * f.in[i] * f.scale[0];
}
