// The root of each node's tree, parents given; a root is its own parent.
#include "attack.hpp"
// kernel begin
__global__ void roots(const int* parent, int* root, int n) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= n) return;
  int at = i;
  while (parent[at] != at) at = parent[at];
  root[i] = at;
}
// kernel end
int main() {
  const int n = 1000;
  int* root = zeros<int>(n);
  int* parent = filled<int>(n, [](int i) { return i < 20 ? i : static_cast<int>(bits(i) % i); });
  roots<<<8, 128>>>(parent, root, n);
  return told(root, n);
}
