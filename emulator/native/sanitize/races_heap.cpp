// Order through the device heap: what a workgroup did with a block comes before what the next owner of the block does.
//
// ockl's malloc cuts blocks out of slabs. A slab has a bit for each block: malloc sets it with an atomic or, free clears it
// with an atomic and. Neither is a fence, so the accesses between them are ordered here: the device library relies on it, and no
// program can do better.
#include <algorithm>
#include <bit>
#include <string_view>

#include "sanitize/races_access.hpp"

namespace hipscope::sanitize {
namespace {

constexpr std::uint64_t kSlab = 2U << 20U;  // and its address is a multiple of it
constexpr std::uint64_t kBits = 16U << 10U;  // of a slab, where its bits lie at most

std::uint64_t slab_of(std::uint64_t address) { return address & ~(kSlab - 1); }

}  // namespace

void Races::heap_operation(const Access& a) {
    const std::string_view text = a.in.text;
    const std::string_view name = text.substr(0, text.find(' '));
    const bool gives = name.ends_with("_atomic_and"), takes = name.ends_with("_atomic_or");
    if (!gives && !takes) return;
    std::uint64_t last = 0;
    for (std::uint64_t rest = a.lanes; rest != 0; rest &= rest - 1) {
        const std::uint64_t address = a.made.address[0][std::countr_zero(rest)], slab = slab_of(address);
        if (slab == last || address - slab >= kBits || !slabs_.contains(slab)) continue;
        last = slab;
        HeapUse& use = fences_of(a.order, a.group).heap[slab];
        if (takes) use.taken = ++time_;
        else use.given.push_back(++time_);
    }
}

/// True when the earlier access's workgroup gave a block of the slab back after it, and the other was given one after that.
bool Races::handed_on(const GroupFences& from, const Segment& earlier, const GroupFences& to, std::uint64_t address) const {
    if (from.heap.empty() || to.heap.empty()) return false;
    const auto giver = from.heap.find(slab_of(address));
    const auto taker = to.heap.find(slab_of(address));
    if (giver == from.heap.end() || taker == to.heap.end()) return false;
    const auto given = std::ranges::upper_bound(giver->second.given, earlier.begun);
    return given != giver->second.given.end() && taker->second.taken > *given;
}

}  // namespace hipscope::sanitize
