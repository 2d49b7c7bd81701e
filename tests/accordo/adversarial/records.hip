// Particles as an array of structures of mixed types.
#include <hip/hip_runtime.h>

#include <cstdint>
#include <vector>

#include "harness.hpp"
struct Record {
  float x, v;
  int kind;
  float mass;
};
// kernel begin
__global__ void records(Record* all, int n, float force) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  Record r = all[i];
  if (r.kind == 1) r.v += force / r.mass;
  r.x += 0.01f * r.v;
  all[i] = r;
}
// kernel end
int main() {
  const int n = 150;
  Record* all = filled<Record>(n, [](int i) { return Record{number(i), number(i + 50), 1, 2.0f}; });
  records<<<3, 64>>>(all, n, 0.5f);
  return finish();
}
