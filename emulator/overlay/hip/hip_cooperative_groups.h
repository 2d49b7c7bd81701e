// Cooperative groups as HIP 6 and 7 have them, for older headers: groups of the grid, of a workgroup and of lanes, with
// shuffles, votes, matches, reductions and scans. In place of the installed header, whose tiles lack most of that.
// Lanes of a wave run in step here, so groups of lanes need no barrier among themselves, only order of memory.
#pragma once

#include <hip/hip_runtime.h>

#if !defined(__clang__) || !defined(__HIP__)  // compilers of host code
#include_next <hip/hip_cooperative_groups.h>
#else

#define HIPSCOPE_GROUP __device__ inline

namespace cooperative_groups {

using lane_mask = unsigned long long;

namespace internal {

typedef enum { cg_invalid, cg_multi_grid, cg_grid, cg_workgroup, cg_tiled_group, cg_coalesced_group } group_type;

HIPSCOPE_GROUP unsigned rank_in_workgroup() { return (threadIdx.z * blockDim.y + threadIdx.y) * blockDim.x + threadIdx.x; }
HIPSCOPE_GROUP unsigned workgroup_size() { return blockDim.x * blockDim.y * blockDim.z; }
HIPSCOPE_GROUP unsigned workgroup_rank() { return (blockIdx.z * gridDim.y + blockIdx.y) * gridDim.x + blockIdx.x; }
HIPSCOPE_GROUP unsigned workgroups() { return gridDim.x * gridDim.y * gridDim.z; }
HIPSCOPE_GROUP unsigned rank_below(lane_mask mask) {
  return __builtin_amdgcn_mbcnt_hi(static_cast<unsigned>(mask >> 32), __builtin_amdgcn_mbcnt_lo(static_cast<unsigned>(mask), 0));
}
HIPSCOPE_GROUP void order_memory() { __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, "agent"); }

/// The lane of the mask's member number `n`.
HIPSCOPE_GROUP unsigned nth_lane(lane_mask mask, unsigned n) {
  unsigned lane = 0;
  for (unsigned half = 32; half > 0; half /= 2) {
    const unsigned below = __popcll(mask & ((1ull << half) - 1));
    if (n < below) continue;
    n -= below;
    mask >>= half;
    lane += half;
  }
  return lane;
}
/// The bits of `bits` at the mask's members, packed together.
HIPSCOPE_GROUP lane_mask packed(lane_mask bits, lane_mask mask) {
  lane_mask result = 0;
  for (unsigned n = 0; mask != 0; ++n, mask &= mask - 1) result |= (bits >> (__ffsll(mask) - 1) & 1) << n;
  return result;
}
/// What `lane` has in `value`; of any type that can be copied byte by byte.
template <class T>
HIPSCOPE_GROUP T from_lane(const T& value, unsigned lane) {
  static_assert(__is_trivially_copyable(T) && sizeof(T) <= 32, "values of up to 32 bytes that can be copied byte by byte");
  int words[(sizeof(T) + 3) / 4] = {};
  __builtin_memcpy(words, &value, sizeof(T));
  for (int& word : words) word = __builtin_amdgcn_ds_bpermute(static_cast<int>(lane) * 4, word);
  T result;
  __builtin_memcpy(&result, words, sizeof(T));
  return result;
}

}  // namespace internal

/// Any group. One of lanes knows its lanes, and which part of its parent it is.
class thread_group {
 public:
  HIPSCOPE_GROUP unsigned size() const { return size_; }
  HIPSCOPE_GROUP unsigned num_threads() const { return size_; }
  HIPSCOPE_GROUP unsigned cg_type() const { return type_; }
  HIPSCOPE_GROUP unsigned thread_rank() const {
    switch (type_) {
      case internal::cg_multi_grid: return static_cast<unsigned>(__ockl_multi_grid_thread_rank());
      case internal::cg_grid: return internal::workgroup_rank() * internal::workgroup_size() + internal::rank_in_workgroup();
      case internal::cg_workgroup: return internal::rank_in_workgroup();
      default: return internal::rank_below(mask_);
    }
  }
  HIPSCOPE_GROUP bool is_valid() const {
    if (type_ == internal::cg_multi_grid) return __ockl_multi_grid_is_valid();
    if (type_ == internal::cg_grid) return __ockl_grid_is_valid();
    return type_ != internal::cg_invalid;
  }
  HIPSCOPE_GROUP void sync() const {
    if (type_ == internal::cg_multi_grid) __ockl_multi_grid_sync();
    else if (type_ == internal::cg_grid) __ockl_grid_sync();
    else if (type_ == internal::cg_workgroup) __syncthreads();
    else internal::order_memory();
  }

 protected:
  HIPSCOPE_GROUP thread_group(internal::group_type type, unsigned size, lane_mask mask = 0, unsigned meta_rank = 0, unsigned meta_size = 1)
      : type_(type), size_(size), meta_rank_(meta_rank), meta_size_(meta_size), mask_(mask) {}

  unsigned type_, size_, meta_rank_, meta_size_;
  lane_mask mask_;

  friend __device__ thread_group tiled_partition(const thread_group&, unsigned);
};

class multi_grid_group : public thread_group {
 public:
  HIPSCOPE_GROUP unsigned num_grids() const { return static_cast<unsigned>(__ockl_multi_grid_num_grids()); }
  HIPSCOPE_GROUP unsigned grid_rank() const { return static_cast<unsigned>(__ockl_multi_grid_grid_rank()); }

 private:
  HIPSCOPE_GROUP multi_grid_group() : thread_group(internal::cg_multi_grid, static_cast<unsigned>(__ockl_multi_grid_size())) {}
  friend __device__ multi_grid_group this_multi_grid();
};
HIPSCOPE_GROUP multi_grid_group this_multi_grid() { return {}; }

class grid_group : public thread_group {
 public:
  HIPSCOPE_GROUP dim3 group_dim() const { return dim3(gridDim.x, gridDim.y, gridDim.z); }
  HIPSCOPE_GROUP dim3 dim_blocks() const { return group_dim(); }
  HIPSCOPE_GROUP unsigned num_blocks() const { return internal::workgroups(); }
  HIPSCOPE_GROUP dim3 block_index() const { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  HIPSCOPE_GROUP unsigned block_rank() const { return internal::workgroup_rank(); }

 private:
  HIPSCOPE_GROUP grid_group() : thread_group(internal::cg_grid, internal::workgroups() * internal::workgroup_size()) {}
  friend __device__ grid_group this_grid();
};
HIPSCOPE_GROUP grid_group this_grid() { return {}; }

class thread_block : public thread_group {
 public:
  HIPSCOPE_GROUP dim3 group_index() const { return dim3(blockIdx.x, blockIdx.y, blockIdx.z); }
  HIPSCOPE_GROUP dim3 thread_index() const { return dim3(threadIdx.x, threadIdx.y, threadIdx.z); }
  HIPSCOPE_GROUP dim3 group_dim() const { return dim3(blockDim.x, blockDim.y, blockDim.z); }
  HIPSCOPE_GROUP dim3 dim_threads() const { return group_dim(); }

 private:
  HIPSCOPE_GROUP thread_block() : thread_group(internal::cg_workgroup, internal::workgroup_size()) {}
  friend __device__ thread_block this_thread_block();
};
HIPSCOPE_GROUP thread_block this_thread_block() { return {}; }

/// What groups of lanes can do. Ranks count the group's lanes; bits of votes and matches stand for ranks.
class lane_group : public thread_group {
 public:
  HIPSCOPE_GROUP unsigned meta_group_rank() const { return meta_rank_; }
  HIPSCOPE_GROUP unsigned meta_group_size() const { return meta_size_; }
  template <class T>
  HIPSCOPE_GROUP T shfl(T value, int rank) const {
    return internal::from_lane(value, lane_of(static_cast<unsigned>(rank) % size_));
  }
  template <class T>
  HIPSCOPE_GROUP T shfl_down(T value, unsigned by) const {
    const unsigned rank = thread_rank();
    return internal::from_lane(value, lane_of(by < size_ - rank ? rank + by : rank));
  }
  template <class T>
  HIPSCOPE_GROUP T shfl_up(T value, unsigned by) const {
    const unsigned rank = thread_rank();
    return internal::from_lane(value, lane_of(by <= rank ? rank - by : rank));
  }
  HIPSCOPE_GROUP lane_mask ballot(int predicate) const { return internal::packed(__ballot(predicate), mask_); }
  HIPSCOPE_GROUP int any(int predicate) const { return (__ballot(predicate) & mask_) != 0; }
  HIPSCOPE_GROUP int all(int predicate) const { return (__ballot(!predicate) & mask_) == 0; }
  template <class T>
  HIPSCOPE_GROUP lane_mask match_any(T value) const {
    return internal::packed(lanes_with(value), mask_);
  }
  template <class T>
  HIPSCOPE_GROUP lane_mask match_all(T value, int& all_same) const {
    all_same = lanes_with(value) == mask_;
    return all_same ? internal::packed(mask_, mask_) : 0;
  }
  /// The group's lanes whose value is the caller's.
  template <class T>
  HIPSCOPE_GROUP lane_mask lanes_with(T value) const {
    lane_mask same = 0;
    for (lane_mask left = mask_; left != 0;) {
      const T first = internal::from_lane(value, __ffsll(left) - 1);
      const lane_mask equal = __ballot(value == first) & mask_;
      if (value == first) same = equal;
      left &= ~equal;
    }
    return same;
  }

 protected:
  using thread_group::thread_group;
  HIPSCOPE_GROUP unsigned lane_of(unsigned rank) const { return internal::nth_lane(mask_, rank); }
};

class coalesced_group : public lane_group {
 private:
  HIPSCOPE_GROUP coalesced_group(lane_mask mask, unsigned meta_rank = 0, unsigned meta_size = 1)
      : lane_group(internal::cg_coalesced_group, __popcll(mask), mask, meta_rank, meta_size) {}
  HIPSCOPE_GROUP coalesced_group tile(unsigned size) const {
    const unsigned mine = thread_rank() / size;
    lane_mask part = mask_;
    for (unsigned i = 0; i < mine * size; ++i) part &= part - 1;
    lane_mask rest = part;
    for (unsigned i = 0; i < size; ++i) rest &= rest - 1;
    return {part & ~rest, mine, (size_ + size - 1) / size};
  }
  friend __device__ coalesced_group coalesced_threads();
  friend __device__ coalesced_group tiled_partition(const coalesced_group&, unsigned);
  friend __device__ thread_group tiled_partition(const thread_group&, unsigned);
  template <class Group, class Label>
  friend __device__ coalesced_group labeled_partition(const Group&, Label);
};
HIPSCOPE_GROUP coalesced_group coalesced_threads() { return {__builtin_amdgcn_read_exec()}; }

/// Neighbouring lanes; their number is a power of two, up to a wave.
class tiled_group : public lane_group {
 protected:
  HIPSCOPE_GROUP tiled_group(unsigned size, unsigned meta_rank, unsigned meta_size)
      : lane_group(internal::cg_tiled_group, size, mask_of(size), meta_rank, meta_size) {}
  HIPSCOPE_GROUP static lane_mask mask_of(unsigned size) {
    const lane_mask bits = size == 64 ? ~0ull : (1ull << size) - 1;
    return bits << (__lane_id() & ~(size - 1));
  }
  friend __device__ tiled_group tiled_partition(const tiled_group&, unsigned);
  friend __device__ thread_group tiled_partition(const thread_group&, unsigned);
};

template <unsigned tile, class Parent = void>
class thread_block_tile;

namespace internal {
/// Tiles of the first lanes count how many of them the parent has.
HIPSCOPE_GROUP unsigned tiles_in(const thread_group& parent, unsigned size) { return (parent.size() + size - 1) / size; }
HIPSCOPE_GROUP unsigned tile_rank(const thread_group& parent, unsigned size) { return parent.thread_rank() / size; }
}  // namespace internal

template <unsigned tile>
class thread_block_tile<tile, void> : public tiled_group {
  static_assert(tile > 0 && tile <= 64 && (tile & (tile - 1)) == 0, "a tile has 1, 2, 4 ... 64 lanes");

 public:
  HIPSCOPE_GROUP static constexpr unsigned size() { return tile; }
  HIPSCOPE_GROUP static constexpr unsigned num_threads() { return tile; }
  HIPSCOPE_GROUP static unsigned thread_rank() { return __lane_id() & (tile - 1); }
  template <class T>
  HIPSCOPE_GROUP T shfl(T value, int rank) const {
    return internal::from_lane(value, (__lane_id() & ~(tile - 1)) + (static_cast<unsigned>(rank) & (tile - 1)));
  }
  template <class T>
  HIPSCOPE_GROUP T shfl_down(T value, unsigned by) const {
    return internal::from_lane(value, by < tile - thread_rank() ? __lane_id() + by : __lane_id());
  }
  template <class T>
  HIPSCOPE_GROUP T shfl_up(T value, unsigned by) const {
    return internal::from_lane(value, by <= thread_rank() ? __lane_id() - by : __lane_id());
  }
  template <class T>
  HIPSCOPE_GROUP T shfl_xor(T value, unsigned mask) const {
    const unsigned rank = thread_rank() ^ mask;
    return internal::from_lane(value, rank < tile ? (__lane_id() & ~(tile - 1)) + rank : __lane_id());
  }
  HIPSCOPE_GROUP lane_mask ballot(int predicate) const { return low(__ballot(predicate)); }
  template <class T>
  HIPSCOPE_GROUP lane_mask match_any(T value) const {
    return low(this->lanes_with(value));
  }
  template <class T>
  HIPSCOPE_GROUP lane_mask match_all(T value, int& all_same) const {
    all_same = this->lanes_with(value) == this->mask_;
    return all_same ? low(this->mask_) : 0;
  }

 protected:
  HIPSCOPE_GROUP thread_block_tile(unsigned meta_rank, unsigned meta_size) : tiled_group(tile, meta_rank, meta_size) {}
  /// The tile's bits at the lower end.
  HIPSCOPE_GROUP lane_mask low(lane_mask bits) const { return (bits & this->mask_) >> (__lane_id() & ~(tile - 1)); }
};

template <unsigned tile, class Parent>
class thread_block_tile : public thread_block_tile<tile, void> {
 private:
  HIPSCOPE_GROUP explicit thread_block_tile(const Parent& parent)
      : thread_block_tile<tile, void>(internal::tile_rank(parent, tile), internal::tiles_in(parent, tile)) {}
  template <unsigned size, class P>
  friend __device__ thread_block_tile<size, P> tiled_partition(const P&);
};

/// Tiles of a size that the compiler knows; of a workgroup or of a larger tile.
template <unsigned size, class Parent>
HIPSCOPE_GROUP thread_block_tile<size, Parent> tiled_partition(const Parent& parent) {
  return thread_block_tile<size, Parent>(parent);
}
HIPSCOPE_GROUP tiled_group tiled_partition(const tiled_group& parent, unsigned size) {
  const unsigned own = size < parent.size() ? size : parent.size();
  return {own, internal::tile_rank(parent, own), internal::tiles_in(parent, own)};
}
HIPSCOPE_GROUP coalesced_group tiled_partition(const coalesced_group& parent, unsigned size) { return parent.tile(size); }
HIPSCOPE_GROUP thread_group tiled_partition(const thread_group& parent, unsigned size) {
  if (parent.cg_type() == internal::cg_coalesced_group) return static_cast<const coalesced_group&>(parent).tile(size);
  const bool of_tile = parent.cg_type() == internal::cg_tiled_group && parent.size() < size;
  return tiled_group(of_tile ? parent.size() : size, internal::tile_rank(parent, size), internal::tiles_in(parent, size));
}

/// The group's lanes that have the caller's label.
template <class Group, class Label>
HIPSCOPE_GROUP coalesced_group labeled_partition(const Group& group, Label label) {
  return {group.lanes_with(label)};
}
template <class Group>
HIPSCOPE_GROUP coalesced_group binary_partition(const Group& group, bool predicate) {
  return labeled_partition(group, static_cast<int>(predicate));
}

template <class Group>
HIPSCOPE_GROUP unsigned group_size(const Group& group) { return group.size(); }
template <class Group>
HIPSCOPE_GROUP unsigned thread_rank(const Group& group) { return group.thread_rank(); }
template <class Group>
HIPSCOPE_GROUP bool is_valid(const Group& group) { return group.is_valid(); }
template <class Group>
HIPSCOPE_GROUP void sync(const Group& group) { group.sync(); }

// Operations for reductions and scans
#define HIPSCOPE_OPERATION(name, expression) \
  template <class T = void> \
  struct name { \
    HIPSCOPE_GROUP T operator()(const T& a, const T& b) const { return expression; } \
  }; \
  template <> \
  struct name<void> { \
    template <class T> \
    HIPSCOPE_GROUP T operator()(const T& a, const T& b) const { return expression; } \
  };
HIPSCOPE_OPERATION(plus, a + b)
HIPSCOPE_OPERATION(less, b < a ? b : a)
HIPSCOPE_OPERATION(greater, a < b ? b : a)
HIPSCOPE_OPERATION(bit_and, a & b)
HIPSCOPE_OPERATION(bit_or, a | b)
HIPSCOPE_OPERATION(bit_xor, a ^ b)
#undef HIPSCOPE_OPERATION

/// All values of a group of lanes through an associative operation, in the order of their ranks; every lane gets the result.
template <class Group, class T, class Operation>
HIPSCOPE_GROUP T reduce(const Group& group, T value, Operation operation) {
  const unsigned rank = group.thread_rank(), size = group.size();
  for (unsigned by = 1; by < size; by *= 2) {
    const T other = group.shfl_down(value, by);
    if (rank % (2 * by) == 0 && rank + by < size) value = operation(value, other);
  }
  return group.shfl(value, 0);
}
/// The values up to and with the caller's.
template <class Group, class T, class Operation>
HIPSCOPE_GROUP T inclusive_scan(const Group& group, T value, Operation operation) {
  const unsigned rank = group.thread_rank(), size = group.size();
  for (unsigned by = 1; by < size; by *= 2) {
    const T other = group.shfl_up(value, by);
    if (rank >= by) value = operation(other, value);
  }
  return value;
}
template <class Group, class T>
HIPSCOPE_GROUP T inclusive_scan(const Group& group, T value) {
  return inclusive_scan(group, value, plus<T>());
}
/// The values before the caller's; T{} for the first.
template <class Group, class T, class Operation>
HIPSCOPE_GROUP T exclusive_scan(const Group& group, T value, Operation operation) {
  const T before = group.shfl_up(inclusive_scan(group, value, operation), 1);
  return group.thread_rank() == 0 ? T{} : before;
}
template <class Group, class T>
HIPSCOPE_GROUP T exclusive_scan(const Group& group, T value) {
  return exclusive_scan(group, value, plus<T>());
}

}  // namespace cooperative_groups

#undef HIPSCOPE_GROUP

#endif
