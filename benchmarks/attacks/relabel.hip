// Nodes of a step's colour take the smallest free colour of 32 among their neighbours, others stay.
#include "attack.hpp"
// kernel begin
__global__ void relabel(const int* begin, const int* next, const int* colour, int* now, int nodes, int step) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= nodes) return;
  int mine = colour[v];
  if (mine == step) {
    unsigned taken = 0;
    for (int e = begin[v]; e < begin[v + 1]; ++e) {
      const int c = colour[next[e]];
      if (c >= 0 && c < 32) taken |= 1u << c;
    }
    mine = taken == 0xffffffffu ? 32 : __ffs(~taken) - 1;
  }
  now[v] = mine;
}
// kernel end
int main() {
  const int nodes = 600;
  const int* begin = filled<int>(nodes + 1, [](int i) { return 4 * i; });
  int* now = zeros<int>(nodes);
  relabel<<<5, 128>>>(begin, upto<int>(4 * nodes, nodes), upto<int>(nodes, 6), now, nodes, 2);
  return told(now, nodes);
}
