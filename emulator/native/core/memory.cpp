// The device arena: reserves the address range and its shadow, places blocks with guard zones, recycles freed ranges.
#include "core/memory.hpp"

#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <string>
#include <vector>

namespace hipscope {
namespace {

constexpr std::uint64_t kPage = 4096;
constexpr std::uint64_t kLargePage = 2ULL << 20U;
constexpr std::uint64_t kMostInLargePages = 1ULL << 28U;
constexpr std::uint64_t kSharedShadow = 1ULL << 24U;  // bytes of shadow, for blocks of 256 MiB and more

/// Of a range of so many bytes, with that of its regions.
constexpr std::uint64_t shadow_of(std::uint64_t bytes) { return (bytes >> Memory::granule_bits) + (bytes >> Memory::region_bits); }

std::uint64_t round_up(std::uint64_t value, std::uint64_t to) { return (value + to - 1) / to * to; }

void* at(std::uint64_t address) {
    return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr): device pointers are host pointers
}

/// The block of `blocks` that holds `address`, or nullptr.
const Allocation* holder(const std::map<std::uint64_t, Allocation>& blocks, std::uint64_t address) {
    auto block = blocks.upper_bound(address);
    if (block == blocks.begin()) return nullptr;
    const Allocation& found = std::prev(block)->second;
    const std::uint64_t span = found.bytes == 0 ? 1 : found.bytes;
    return address - found.address < span ? &found : nullptr;
}

/// Bytes of address space that this process may still have; all of them without a limit.
std::uint64_t left_of_limit() {
    rlimit limit{};
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return ~0ULL;
    std::uint64_t pages = 0;
    std::ifstream("/proc/self/statm") >> pages;
    return limit.rlim_cur - std::min<std::uint64_t>(limit.rlim_cur, pages * kPage);
}

/// No address space can be had.
[[noreturn]] void refuse() {
    rlimit limit{};
    std::string why;
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        why = ": this process may have " + std::to_string(limit.rlim_cur >> 20U) + " MiB of address space (ulimit -v), and needs " +
              std::to_string(2 * (Memory::least + shadow_of(Memory::least)) >> 20U) + " more than it has, better " +
              std::to_string((Memory::reserved + shadow_of(Memory::reserved)) >> 20U) +
              ", most of which is never touched; lift the limit (ulimit -v unlimited)";
    throw std::runtime_error("cannot reserve the address range at 0x7e0000000000 of the emulated device" + why);
}

}  // namespace

Memory::Memory() {
    // Under a limit half of what is left stays for the program and for what is noted of its launches.
    std::uint64_t range = reserved;
    if (const std::uint64_t left = left_of_limit(); range + shadow_of(range) > left)
        while (range >= least && range + shadow_of(range) > left / 2) range /= 2;
    if (range < least || !reserve_range(range)) refuse();
    limit_ = range_;
    next_ = base + kPage;  // the first page stays invalid
}

bool Memory::reserve_range(std::uint64_t bytes) {
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE;
    if (mmap(at(base), bytes, PROT_READ | PROT_WRITE, flags | MAP_FIXED_NOREPLACE, -1, 0) != at(base)) return false;
    madvise(at(base), bytes, MADV_DONTDUMP);
    void* shadow = mmap(nullptr, shadow_of(bytes), PROT_READ | PROT_WRITE, flags, -1, 0);
    if (shadow == MAP_FAILED) {
        munmap(at(base), bytes);
        return false;
    }
    madvise(shadow, shadow_of(bytes), MADV_DONTDUMP);
    shadow_ = static_cast<std::uint8_t*>(shadow);
    regions_ = shadow_ + (bytes >> granule_bits);
    range_ = bytes;
    return true;
}

Memory::~Memory() {
    if (full_pages_ >= 0) close(full_pages_);
    munmap(shadow_, shadow_of(range_));
    munmap(at(base), range_);
}

std::uint64_t Memory::allocate(std::uint64_t bytes, bool host_visible, std::uint64_t alignment) {
    const std::lock_guard lock(mutex_);
    if (bytes > limit_ - in_use_) return 0;
    const std::uint64_t start = find_space(footprint(bytes), alignment);
    if (start != 0) place(start, bytes, host_visible);
    return start;
}

std::uint64_t Memory::find_space(std::uint64_t need, std::uint64_t alignment) {
    for (auto hole = holes_.begin(); hole != holes_.end(); ++hole) {
        const auto [from, size] = *hole;
        const std::uint64_t start = round_up(from, alignment);
        if (size < start - from || size - (start - from) < need) continue;
        holes_.erase(hole);
        if (start > from) holes_.emplace(from, start - from);
        if (from + size > start + need) holes_.emplace(start + need, from + size - start - need);
        return start;
    }
    const std::uint64_t start = round_up(next_, alignment);
    const bool fits = start <= base + range_ && need <= base + range_ - start;
    if (!fits && !freed_.empty()) {  // address space is short: forget what was freed
        for (const auto& [freed, block] : freed_) add_hole(freed, footprint(block.bytes));
        freed_.clear();
        return find_space(need, alignment);
    }
    if (!fits) return 0;
    if (start > next_) holes_.emplace(next_, start - next_);
    next_ = start + need;
    return start;
}

bool Memory::overlaps(std::uint64_t address, std::uint64_t bytes) const {
    const auto after = blocks_.lower_bound(address);
    if (after != blocks_.end() && after->first < address + bytes) return true;
    if (after == blocks_.begin()) return false;
    const Allocation& before = std::prev(after)->second;
    return before.address + before.bytes > address;
}

bool Memory::allocate_at(std::uint64_t address, std::uint64_t bytes, bool host_visible) {
    const std::lock_guard lock(mutex_);
    if (address < base + kPage || address >= base + range_ || bytes > base + range_ - address) return false;
    if (overlaps(address, bytes)) return false;
    const std::uint64_t end = address + footprint(bytes);
    if (end > next_) next_ = round_up(end, kPage);
    holes_.clear();  // later blocks must not land in a range this one may now cover
    place(address, bytes, host_visible);
    return true;
}

std::uint64_t Memory::reserve(std::uint64_t bytes, std::uint64_t alignment) {
    const std::lock_guard lock(mutex_);
    return bytes > range_ ? 0 : find_space(footprint(bytes), alignment);
}

void Memory::unreserve(std::uint64_t address, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    std::erase_if(taken_, [&](const auto& block) { return block.first - address < bytes; });
    add_hole(address, footprint(bytes));
}

bool Memory::put(std::uint64_t address, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    if (bytes > limit_ - in_use_ || overlaps(address, bytes)) return false;
    place(address, bytes, false);
    return true;
}

bool Memory::take(std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    const auto block = blocks_.find(address);
    if (block == blocks_.end()) return false;
    mark(address, block->second.bytes, false);
    if (keep_freed_) taken_.insert_or_assign(address, block->second);
    in_use_ -= block->second.bytes;
    blocks_.erase(block);
    return true;
}

void Memory::place(std::uint64_t address, std::uint64_t bytes, bool host_visible) {
    blocks_[address] = Allocation{address, bytes, next_id_++, host_visible};
    in_use_ += bytes;
    mark(address, bytes, true);
    // Kernels sweep over blocks of some megabytes; larger ones may be used here and there only and stay in small pages.
    if (bytes < kLargePage || bytes > kMostInLargePages) return;
    const std::uint64_t first = std::max(address / kLargePage * kLargePage, base);
    madvise(at(first), std::min(round_up(address + bytes, kLargePage), base + range_) - first, MADV_HUGEPAGE);
}

bool Memory::release(std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    const auto block = blocks_.find(address);
    if (block == blocks_.end()) return false;
    const std::uint64_t bytes = block->second.bytes;
    mark(address, bytes, false);
    if (keep_freed_) freed_.insert_or_assign(address, block->second);
    blocks_.erase(block);
    in_use_ -= bytes;
    const std::uint64_t size = footprint(bytes);
    madvise(at(address), size, MADV_DONTNEED);  // reads as zero again, as `allocate` promises
    if (!keep_freed_) add_hole(address, size);
    return true;
}

void Memory::add_hole(std::uint64_t start, std::uint64_t size) {
    const auto right = holes_.lower_bound(start);
    if (right != holes_.end() && right->first == start + size) {
        size += right->second;
        holes_.erase(right);
    }
    const auto left = holes_.lower_bound(start);
    if (left != holes_.begin()) {
        const auto previous = std::prev(left);
        if (previous->first + previous->second == start) {
            previous->second += size;
            return;
        }
    }
    holes_.emplace(start, size);
}

void Memory::keep_freed() {
    keep_freed_ = true;
    guard_ = wide_guard;
}

std::uint64_t Memory::footprint(std::uint64_t bytes) const { return round_up(bytes == 0 ? 1 : bytes, kPage) + guard_; }

const Allocation* Memory::find(std::uint64_t address) const {
    const std::lock_guard lock(mutex_);
    return holder(blocks_, address);
}

const Allocation* Memory::find_freed(std::uint64_t address) const {
    const std::lock_guard lock(mutex_);
    const Allocation* freed = holder(freed_, address);
    return freed != nullptr ? freed : holder(taken_, address);
}

std::uint64_t Memory::room(std::uint64_t address) const {
    const std::lock_guard lock(mutex_);
    const Allocation* block = holder(blocks_, address);
    if (block == nullptr) return 0;
    std::uint64_t end = block->address + block->bytes;
    for (auto next = blocks_.find(end); next != blocks_.end() && next->second.bytes > 0; next = blocks_.find(end)) end += next->second.bytes;
    return end - address;
}

std::optional<Allocation> Memory::at_or_below(std::uint64_t address) const {
    const std::lock_guard lock(mutex_);
    const auto after = blocks_.upper_bound(address);
    if (after == blocks_.begin()) return std::nullopt;
    return std::prev(after)->second;
}

void Memory::register_host(std::uint64_t address, std::uint64_t bytes) {
    const std::lock_guard lock(mutex_);
    host_ranges_[address] = bytes;
}

bool Memory::forget_host(std::uint64_t address) {
    const std::lock_guard lock(mutex_);
    return host_ranges_.erase(address) == 1;
}

bool Memory::registered(std::uint64_t address, std::uint32_t bytes) const {
    const std::lock_guard lock(mutex_);
    auto range = host_ranges_.upper_bound(address);
    if (range == host_ranges_.begin()) return false;
    --range;
    return address + bytes <= range->first + range->second;
}

/// Regions that end up valid are those inside the block; one that is not any more may have belonged to it in part.
void Memory::mark_regions(std::uint64_t address, std::uint64_t bytes, bool valid) {
    constexpr std::uint64_t region = 1ULL << region_bits;
    const std::uint64_t begin = address - base, end = begin + bytes;
    const std::uint64_t first = (valid ? round_up(begin, region) : begin) >> region_bits;
    const std::uint64_t last = (valid ? end : round_up(end, region)) >> region_bits;
    if (first < last) std::memset(regions_ + first, valid ? 1 : 0, last - first);
}

void Memory::mark(std::uint64_t address, std::uint64_t bytes, bool valid) {
    if (!valid) mark_regions(address, bytes, false);
    const std::uint64_t first = (address - base) >> granule_bits;
    const std::uint64_t whole = bytes >> granule_bits;
    const auto rest = static_cast<std::uint8_t>(bytes & ((1U << granule_bits) - 1));
    constexpr int full = 1 << granule_bits;
    std::uint8_t* begin = shadow_ + first;
    std::uint8_t* const end = begin + whole;
    if (whole >= kSharedShadow) {  // the shadow of a large block must not take memory of its own
        const auto up = static_cast<std::ptrdiff_t>(round_up(reinterpret_cast<std::uint64_t>(begin), kPage) - reinterpret_cast<std::uint64_t>(begin));
        std::memset(begin, valid ? full : 0, static_cast<std::size_t>(up));
        begin += up;
        begin = valid ? share_full(begin, end) : share_empty(begin, end);
    }
    std::memset(begin, valid ? full : 0, static_cast<std::size_t>(end - begin));
    if (rest != 0) *end = valid ? rest : 0;
    if (valid) mark_regions(address, bytes, true);
}

std::uint8_t* Memory::share_full(std::uint8_t* begin, std::uint8_t* end) {
    if (full_pages_ < 0) {
        full_pages_ = memfd_create("hipscope-shadow", MFD_CLOEXEC);
        const std::vector<std::uint8_t> content(kSharedShadow, 1U << granule_bits);
        if (full_pages_ < 0 || write(full_pages_, content.data(), content.size()) != static_cast<ssize_t>(content.size())) return begin;
    }
    while (static_cast<std::uint64_t>(end - begin) >= kPage) {
        const std::uint64_t size = std::min<std::uint64_t>(static_cast<std::uint64_t>(end - begin) / kPage * kPage, kSharedShadow);
        if (mmap(begin, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED, full_pages_, 0) == MAP_FAILED) return begin;
        begin += size;
    }
    return begin;
}

std::uint8_t* Memory::share_empty(std::uint8_t* begin, std::uint8_t* end) {
    const std::uint64_t size = static_cast<std::uint64_t>(end - begin) / kPage * kPage;
    const int flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
    return mmap(begin, size, PROT_READ | PROT_WRITE, flags, -1, 0) == MAP_FAILED ? begin : begin + size;
}

}  // namespace hipscope
