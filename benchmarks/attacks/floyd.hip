// Shortest ways by one more node in between, and the node after the first: the step k of Floyd and Warshall.
#include "attack.hpp"
// kernel begin
__global__ void floyd(int* way, int* next, int n, int k, int none) {
  const int j = blockIdx.x * blockDim.x + threadIdx.x, i = blockIdx.y;
  if (j >= n || i >= n) return;
  const int first = way[i * n + k], second = way[k * n + j];
  if (i == k || j == k || first == none || second == none) return;
  const int sum = first + second;
  if (way[i * n + j] == none || sum < way[i * n + j]) {
    way[i * n + j] = sum;
    next[i * n + j] = next[i * n + k];
  }
}
// kernel end
int main() {
  const int n = 48;
  int* way = filled<int>(n * n, [](int i) { return i / 48 == i % 48 ? 0 : bits(i) % 3 == 0 ? 0x3fffffff : static_cast<int>(1 + bits(i + 7) % 90); });
  int* next = filled<int>(n * n, [](int i) { return i % 48; });
  floyd<<<dim3(1, n), 64>>>(way, next, n, 5, 0x3fffffff);
  return told(way, n * n) + told(next, n * n);
}
