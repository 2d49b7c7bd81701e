// malloc, free, new and delete on the device: blocks of many sizes, written before they are read, lists across launches.
#include "check.hpp"

struct Node {
  int value;
  Node* next;
};

__global__ void push(Node** lists, int rounds) {
  const int lane = threadIdx.x;
  for (int i = 0; i < rounds; ++i) {
    Node* node = new Node;
    if (node == nullptr) return;
    node->value = lane * 100 + i;
    node->next = lists[lane];
    lists[lane] = node;
  }
}

__global__ void sum_and_drop(Node** lists, int* sums) {
  const int lane = threadIdx.x;
  int sum = 0;
  for (Node* node = lists[lane]; node != nullptr;) {
    Node* next = node->next;
    sum += node->value;
    delete node;
    node = next;
  }
  sums[lane] = sum;
}

__global__ void blocks_of_many_sizes(int* sums) {
  const int lane = threadIdx.x;
  const int count = 1 + lane % 40 * 7;
  int* block = (int*)malloc(count * sizeof(int));
  if (block == nullptr) return;
  for (int i = 0; i < count; ++i) block[i] = lane + i;
  int sum = 0;
  for (int i = 0; i < count; ++i) sum += block[i];
  sums[lane] = sum;
  if (lane % 3 != 0) free(block);
}

int main() {
  Device<Node*> lists(std::vector<Node*>(64, nullptr));
  Device<int> sums(256);
  push<<<1, 64>>>(lists.data, 5);
  push<<<1, 64>>>(lists.data, 3);
  sum_and_drop<<<1, 64>>>(lists.data, sums.data);
  const std::vector<int> lists_sums = sums.read();
  for (int lane = 0; lane < 64; ++lane) expect("list", lane, lists_sums[lane], 800 * lane + 10 + 3);
  for (int round = 0; round < 3; ++round) {
    blocks_of_many_sizes<<<1, 256>>>(sums.data);
    expect_all("block", sums.read(), [](std::size_t i) {
      const int lane = static_cast<int>(i), count = 1 + lane % 40 * 7;
      return count * lane + count * (count - 1) / 2;
    });
  }
  return verdict();
}
