// Groups of lanes: tiles of all sizes, of tiles and of workgroups, active lanes, partitions by label; shuffles, votes,
// matches, reductions and scans, each against plain loops over what the lanes had.
#include <hip/hip_cooperative_groups.h>

#include "check.hpp"

namespace cg = cooperative_groups;

constexpr int kThreads = 256;

struct Pair {
  double weight;
  int index;
};

/// Everything a group of lanes can do, seen by one lane. `values` are those of the group's lanes in rank order.
struct Seen {
  int rank, size, meta_rank, meta_size, third, down, up, any, all;
  unsigned long long ballot, match;
  int match_all, sum, largest, before, through;
  double heaviest;
};

template <class Group>
__device__ Seen look(const Group& g, int value) {
  Seen s;
  s.rank = g.thread_rank();
  s.size = g.num_threads();
  s.meta_rank = g.meta_group_rank();
  s.meta_size = g.meta_group_size();
  s.third = g.shfl(value, 3);
  s.down = g.shfl_down(value, 2);
  s.up = g.shfl_up(value, 1);
  s.any = g.any(value == 5);
  s.all = g.all(value >= 0);
  s.ballot = g.ballot(value % 2);
  s.match = g.match_any(value % 3);
  g.match_all(value / 1000, s.match_all);
  s.sum = cg::reduce(g, value, cg::plus<int>());
  s.largest = cg::reduce(g, value, cg::greater<int>());
  s.before = cg::exclusive_scan(g, value);
  s.through = cg::inclusive_scan(g, value, cg::plus<int>());
  s.heaviest = g.shfl(Pair{value * 0.5, value}, 0).weight;
  g.sync();
  return s;
}

__device__ int value_of(int thread) { return static_cast<int>(mixed(thread + 1) % 100u); }

template <unsigned size>
__global__ void of_workgroup(Seen* out) {
  out[threadIdx.x] = look(cg::tiled_partition<size>(cg::this_thread_block()), value_of(threadIdx.x));
}
__global__ void of_tile(Seen* out) {
  const auto half = cg::tiled_partition<32>(cg::this_thread_block());
  out[threadIdx.x] = look(cg::tiled_partition<8>(half), value_of(threadIdx.x));
}
__global__ void active(Seen* out) {
  out[threadIdx.x].size = 0;
  if (value_of(threadIdx.x) % 3 != 0) out[threadIdx.x] = look(cg::coalesced_threads(), value_of(threadIdx.x));
}
__global__ void active_tiles(Seen* out) {
  out[threadIdx.x].size = 0;
  if (value_of(threadIdx.x) % 3 != 0) out[threadIdx.x] = look(cg::tiled_partition(cg::coalesced_threads(), 16), value_of(threadIdx.x));
}
__global__ void labels(Seen* out) {
  const auto tile = cg::tiled_partition<32>(cg::this_thread_block());
  out[threadIdx.x] = look(cg::labeled_partition(tile, value_of(threadIdx.x) % 4), value_of(threadIdx.x));
}

/// Sizes known when it runs; groups as plain thread_group; a barrier of the workgroup through one.
__global__ void generic(int* out) {
  __shared__ int shared[kThreads];
  const cg::thread_block block = cg::this_thread_block();
  const cg::thread_group any = block;
  shared[any.thread_rank()] = value_of(threadIdx.x);
  any.sync();
  int wrong = any.size() != kThreads || shared[kThreads - 1 - threadIdx.x] != value_of(kThreads - 1 - threadIdx.x);
  const cg::thread_group eight = cg::tiled_partition(any, 8), four = cg::tiled_partition(eight, 4);
  wrong += eight.size() != 8 || eight.thread_rank() != threadIdx.x % 8 || four.size() != 4 || cg::thread_rank(four) != threadIdx.x % 4;
  const auto tile = cg::tiled_partition<16>(block);
  wrong += tile.shfl_xor(static_cast<int>(threadIdx.x), 5) != static_cast<int>(threadIdx.x ^ 5);
  const auto grid = cg::this_grid();
  wrong += grid.size() != gridDim.x * kThreads || grid.thread_rank() != blockIdx.x * kThreads + threadIdx.x || grid.num_blocks() != gridDim.x;
  wrong += block.group_dim().x != kThreads || block.group_index().x != blockIdx.x || !cg::is_valid(block);
  out[blockIdx.x * kThreads + threadIdx.x] = wrong;
}

template <class Members>
void compare(const char* what, const std::vector<Seen>& seen, bool meta, Members members) {
  for (int t = 0; t < kThreads; ++t) {
    const std::vector<int> lanes = members(t);
    const int n = static_cast<int>(lanes.size());
    const Seen& s = seen[t];
    expect(what, t, s.size, n);
    if (n == 0) continue;
    const int rank = static_cast<int>(std::find(lanes.begin(), lanes.end(), t) - lanes.begin());
    std::vector<int> v;
    for (int lane : lanes) v.push_back(static_cast<int>(mixed(lane + 1) % 100u));
    int sum = 0, largest = 0, any = 0, all = 1, before = 0, same = 1;
    unsigned long long odd = 0, match = 0;
    for (int r = 0; r < n; ++r) {
      sum += v[r];
      if (r < rank) before += v[r];
      largest = std::max(largest, v[r]);
      any |= v[r] == 5;
      odd |= static_cast<unsigned long long>(v[r] % 2) << r;
      match |= static_cast<unsigned long long>(v[r] % 3 == v[rank] % 3) << r;
    }
    expect(what, t, s.rank, rank);
    expect(what, t, s.third, v[3 % n]);
    expect(what, t, s.down, v[rank + 2 < n ? rank + 2 : rank]);
    expect(what, t, s.up, v[rank >= 1 ? rank - 1 : rank]);
    expect(what, t, s.any, any);
    expect(what, t, s.all, all);
    expect(what, t, s.ballot, odd);
    expect(what, t, s.match, match);
    expect(what, t, s.match_all, same);
    expect(what, t, s.sum, sum);
    expect(what, t, s.largest, largest);
    expect(what, t, s.before, before);
    expect(what, t, s.through, before + v[rank]);
    expect(what, t, s.heaviest, v[0] * 0.5);
    if (meta) expect(what, t, s.meta_rank < s.meta_size, true);
  }
}

std::vector<int> tile_of(int t, int size) {
  std::vector<int> lanes;
  for (int i = t / size * size; i < t / size * size + size; ++i) lanes.push_back(i);
  return lanes;
}
bool takes_part(int t) { return mixed(t + 1) % 100u % 3 != 0; }
std::vector<int> active_of(int t) {
  std::vector<int> lanes;
  if (takes_part(t))
    for (int i : tile_of(t, 64))
      if (takes_part(i)) lanes.push_back(i);
  return lanes;
}

template <unsigned size>
void tiles(Device<Seen>& out) {
  of_workgroup<size><<<1, kThreads>>>(out.data);
  const auto seen = out.read();
  compare("tile", seen, true, [](int t) { return tile_of(t, size); });
  for (int t = 0; t < kThreads; ++t) expect("tile number", t, seen[t].meta_rank * 1000 + seen[t].meta_size, static_cast<int>(t / size * 1000 + kThreads / size));
}

int main() {
  Device<Seen> out(kThreads);
  tiles<1>(out);
  tiles<4>(out);
  tiles<16>(out);
  tiles<64>(out);
  of_tile<<<1, kThreads>>>(out.data);
  compare("tile of a tile", out.read(), true, [](int t) { return tile_of(t, 8); });
  active<<<1, kThreads>>>(out.data);
  compare("active lanes", out.read(), true, active_of);
  active_tiles<<<1, kThreads>>>(out.data);
  compare("tiles of active lanes", out.read(), true, [](int t) {
    const auto all = active_of(t);
    if (all.empty()) return all;
    const size_t first = static_cast<size_t>(std::find(all.begin(), all.end(), t) - all.begin()) / 16 * 16;
    return std::vector<int>(all.begin() + first, all.begin() + std::min(all.size(), first + 16));
  });
  labels<<<1, kThreads>>>(out.data);
  compare("labels", out.read(), false, [](int t) {
    std::vector<int> lanes;
    for (int i : tile_of(t, 32))
      if (mixed(i + 1) % 100u % 4 == mixed(t + 1) % 100u % 4) lanes.push_back(i);
    return lanes;
  });
  Device<int> wrong(3 * kThreads);
  generic<<<3, kThreads>>>(wrong.data);
  expect_all("generic", wrong.read(), [](size_t) { return 0; });
  return verdict();
}
