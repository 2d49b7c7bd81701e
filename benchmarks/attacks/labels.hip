// One round of labels that spread along edges: each end gets the smaller one; says whether any changed.
#include "attack.hpp"
// kernel begin
__global__ void labels(const int* from, const int* to, int edges, const int* was, int* now, int* changed) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= edges) return;
  const int u = from[i], v = to[i];
  const int a = was[u], b = was[v];
  if (a < b) {
    atomicMin(&now[v], a);
    *changed = 1;
  } else if (b < a) {
    atomicMin(&now[u], b);
    *changed = 1;
  }
}
// kernel end
int main() {
  const int nodes = 400, edges = 1800;
  const int* from = filled<int>(edges, [](int i) { return static_cast<int>(bits(i) % 300); });
  const int* to = filled<int>(edges, [](int i) { return static_cast<int>(bits(i) % 300 + 1 + bits(i + 7777) % 99); });
  int *now = filled<int>(nodes, [](int i) { return i; }), *changed = zeros<int>(1);
  labels<<<8, 256>>>(from, to, edges, filled<int>(nodes, [](int i) { return i; }), now, changed);
  return told(now, nodes) + told(changed, 1);
}
