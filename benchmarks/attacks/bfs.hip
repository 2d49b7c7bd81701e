// One level of a breadth-first search.
#include "attack.hpp"
// kernel begin
__global__ void bfs(int n, const int* begin, const int* edges, int* level, int now, int* changed) {
  const int v = blockIdx.x * blockDim.x + threadIdx.x;
  if (v >= n || level[v] != now) return;
  for (int e = begin[v]; e < begin[v + 1]; ++e) {
    const int to = edges[e];
    if (level[to] < 0) {
      level[to] = now + 1;
      *changed = 1;
    }
  }
}
// kernel end
int main() {
  const int n = 1000;
  int* begin = filled<int>(n + 1, [](int i) { return i * 4; });
  int* edges = upto<int>(4 * n, n);
  int* level = filled<int>(n, [](int i) { return i ? -1 : 0; });
  int* changed = zeros<int>(1);
  for (int now = 0; now < 6; ++now) bfs<<<8, 128>>>(n, begin, edges, level, now, changed);
  return told(level, n);
}
