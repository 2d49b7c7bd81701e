// Members of sets that have been joined: each walks to the root of its set, and the path behind it is halved.
#include "attack.hpp"
// kernel begin
__global__ void groups(const int* parent, const int* sizes, int* root, int* size, int count, int least) {
  const int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= count) return;
  int at = i, steps = 0;
  while (parent[at] != at && steps < count) {
    at = parent[at];
    ++steps;
  }
  const int members = sizes[at];
  root[i] = members >= least ? at : -1;
  size[i] = members >= least ? members : steps;
}
// kernel end
int main() {
  const int n = 700;
  auto* parent = filled<int>(n, [](int i) { return i < 12 ? i : i - 1 - (int)(bits(i) % (i < 30 ? i : 30)); });
  int *root = zeros<int>(n), *size = zeros<int>(n);
  groups<<<6, 128>>>(parent, upto<int>(n, 90), root, size, n, 30);
  return told(root, n) + told(size, n);
}
