// rocPRIM's functions of one workgroup and of one wave.
#include <rocprim/rocprim.hpp>

#include <numeric>

#include "../programs/check.hpp"

constexpr unsigned kThreads = 256, kItems = 4, kBlocks = 8, kCount = kThreads * kItems * kBlocks;

__global__ __launch_bounds__(kThreads) void scan(const int* in, int* out, int* totals) {
  using Load = rocprim::block_load<int, kThreads, kItems, rocprim::block_load_method::block_load_transpose>;
  using Store = rocprim::block_store<int, kThreads, kItems, rocprim::block_store_method::block_store_transpose>;
  using Scan = rocprim::block_scan<int, kThreads>;
  __shared__ union {
    Load::storage_type load;
    Store::storage_type store;
    Scan::storage_type scan;
  } shared;
  int items[kItems], total;
  const unsigned base = blockIdx.x * kThreads * kItems;
  Load().load(in + base, items, shared.load);
  rocprim::syncthreads();
  Scan().inclusive_scan(items, items, total, shared.scan);
  rocprim::syncthreads();
  Store().store(out + base, items, shared.store);
  if (threadIdx.x == 0) totals[blockIdx.x] = total;
}

__global__ __launch_bounds__(kThreads) void sort(const int* in, int* out) {
  using Sort = rocprim::block_radix_sort<int, kThreads, kItems>;
  __shared__ Sort::storage_type shared;
  int items[kItems];
  const unsigned base = blockIdx.x * kThreads * kItems;
  for (unsigned i = 0; i < kItems; ++i) items[i] = in[base + threadIdx.x * kItems + i];
  Sort().sort(items, shared);
  for (unsigned i = 0; i < kItems; ++i) out[base + threadIdx.x * kItems + i] = items[i];
}

__global__ __launch_bounds__(kThreads) void reduce(const int* in, int* of_block, int* of_wave) {
  using Block = rocprim::block_reduce<int, kThreads>;
  using Wave = rocprim::warp_reduce<int, 32>;
  __shared__ Block::storage_type shared;
  __shared__ Wave::storage_type waves[kThreads / 32];
  const int value = in[blockIdx.x * kThreads + threadIdx.x];
  int sum, largest;
  Block().reduce(value, sum, shared);
  Wave().reduce(value, largest, waves[threadIdx.x / 32], rocprim::maximum<int>());
  if (threadIdx.x == 0) of_block[blockIdx.x] = sum;
  if (threadIdx.x % 32 == 0) of_wave[(blockIdx.x * kThreads + threadIdx.x) / 32] = largest;
}

int main() {
  const auto values = generate(kCount, [](size_t i) { return static_cast<int>(mixed(static_cast<unsigned>(i)) % 20001u) - 10000; });
  Device<int> in(values), out(kCount), totals(kBlocks), waves(kCount / 32), sums(kCount / kThreads);
  const size_t block = kThreads * kItems;

  scan<<<kBlocks, kThreads>>>(in.data, out.data, totals.data);
  std::vector<int> expected(kCount);
  for (size_t b = 0; b < kBlocks; ++b) std::partial_sum(values.begin() + b * block, values.begin() + (b + 1) * block, expected.begin() + b * block);
  expect_all("scan", out.read(), [&](size_t i) { return expected[i]; });
  expect_all("total", totals.read(), [&](size_t b) { return expected[(b + 1) * block - 1]; });

  sort<<<kBlocks, kThreads>>>(in.data, out.data);
  expected = values;
  for (size_t b = 0; b < kBlocks; ++b) std::sort(expected.begin() + b * block, expected.begin() + (b + 1) * block);
  expect_all("sort", out.read(), [&](size_t i) { return expected[i]; });

  reduce<<<kCount / kThreads, kThreads>>>(in.data, sums.data, waves.data);
  expect_all("block sum", sums.read(), [&](size_t b) { return std::accumulate(values.begin() + b * kThreads, values.begin() + (b + 1) * kThreads, 0); });
  expect_all("wave maximum", waves.read(), [&](size_t w) { return *std::max_element(values.begin() + w * 32, values.begin() + (w + 1) * 32); });
  return verdict();
}
