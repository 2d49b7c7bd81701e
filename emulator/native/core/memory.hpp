// Device memory: one reserved address range in this process, handed out with guard zones, so that every device
// pointer is also a host pointer and any stray access is caught by a shadow look-up.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <map>
#include <mutex>
#include <optional>

namespace hipscope {

struct Allocation {
    std::uint64_t address = 0;
    std::uint64_t bytes = 0;
    std::uint32_t id = 0;      // order of creation, stable over runs of a deterministic program
    bool host_visible = false; // pinned or managed
};

/// Address space of the emulated device.
///
/// One shadow byte stands for 16 bytes of memory: 16 all valid, 0 none, k the first k bytes. One more for each region of 16 KiB is not
/// zero where all of the region is valid: who sweeps over a large block would need a new line of shadow for every 1 KiB.
/// Where the process may have less address space (ulimit -v), the range is a smaller one: `range` bytes from `base` on.
class Memory {
public:
    static constexpr std::uint64_t base = 0x7e0000000000ULL;
    static constexpr std::uint64_t reserved = 1ULL << 38U;  // 256 GiB of address space, committed on touch: the most there is
    static constexpr std::uint64_t least = 1ULL << 29U;
    static constexpr std::uint64_t guard = 4096;
    static constexpr std::uint64_t wide_guard = 1ULL << 20U;
    static constexpr unsigned granule_bits = 4, region_bits = 14;

    Memory();
    ~Memory();
    Memory(const Memory&) = delete;
    Memory& operator=(const Memory&) = delete;

    /// A block of `bytes`, zero-filled, aligned to `alignment` (4096 or a larger power of two), or 0 when `limit` would
    /// be passed.
    std::uint64_t allocate(std::uint64_t bytes, bool host_visible = false, std::uint64_t alignment = 4096);
    /// The same at a fixed address inside the reserved range (replay). False when it overlaps a live block.
    bool allocate_at(std::uint64_t address, std::uint64_t bytes, bool host_visible = false);
    /// False when `address` is not the start of a live block.
    bool release(std::uint64_t address);

    /// Address space alone, for blocks that come and go in it: 0 when there is none left.
    std::uint64_t reserve(std::uint64_t bytes, std::uint64_t alignment = 4096);
    void unreserve(std::uint64_t address, std::uint64_t bytes);
    /// A live block in reserved address space. False when a live one is in the way or `limit` would be passed.
    bool put(std::uint64_t address, std::uint64_t bytes);
    /// End a block that `put` made; its address space stays reserved. False when there is none. Known like a freed one.
    bool take(std::uint64_t address);

    /// The live block that holds `address`, or nullptr.
    [[nodiscard]] const Allocation* find(std::uint64_t address) const;
    [[nodiscard]] const std::map<std::uint64_t, Allocation>& blocks() const { return blocks_; }
    /// Bytes from `address` to the end of its block and of those that follow without a gap; 0 outside of all.
    [[nodiscard]] std::uint64_t room(std::uint64_t address) const;
    /// The live block with the highest start that is not above `address`; safe while kernels allocate.
    [[nodiscard]] std::optional<Allocation> at_or_below(std::uint64_t address) const;

    /// Let kernels use a range of ordinary host memory (hipHostRegister) until `forget_host` names its start.
    void register_host(std::uint64_t address, std::uint64_t bytes);
    bool forget_host(std::uint64_t address);
    /// Whether the host may read and write what kernels use while they run.
    [[nodiscard]] bool shared_with_host() const {
        return !host_ranges_.empty() || std::ranges::any_of(blocks_, [](const auto& block) { return block.second.host_visible; });
    }

    /// For the sanitizers: freed blocks stay unusable and known while there is address space, and guard zones are wider.
    void keep_freed();
    /// The freed block that held `address`, or nullptr.
    [[nodiscard]] const Allocation* find_freed(std::uint64_t address) const;

    /// Capacity of the chosen device; allocations beyond it fail as on hardware.
    void set_limit(std::uint64_t bytes) { limit_ = std::min(bytes, range_); }
    /// Bytes of address space that the device has: `reserved`, or less where the process may not have that much.
    [[nodiscard]] std::uint64_t range() const { return range_; }
    [[nodiscard]] std::uint64_t in_use() const { return in_use_; }
    [[nodiscard]] std::uint64_t limit() const { return limit_; }

    /// True when all of [address, address + bytes) lies in one live block.
    [[nodiscard, gnu::always_inline]] bool valid(std::uint64_t address, std::uint32_t bytes) const {
        const std::uint64_t offset = address - base;
        if (offset >= range_ - bytes) return registered(address, bytes);
        if (in_whole_regions(offset, bytes)) return true;
        const std::uint64_t last = offset + bytes - 1;
        for (std::uint64_t g = offset >> granule_bits; g <= last >> granule_bits; ++g) {
            const std::uint64_t end = (g << granule_bits) + shadow_[g];
            if (last < end) return true;
            if (shadow_[g] != (1U << granule_bits)) return false;
        }
        return true;
    }

    /// The same for ranges of many granules.
    [[nodiscard, gnu::always_inline]] bool valid_range(std::uint64_t address, std::uint32_t bytes) const {
        const std::uint64_t offset = address - base;
        if (offset >= range_ - bytes) return registered(address, bytes);
        if (in_whole_regions(offset, bytes)) return true;
        const std::uint64_t last = offset + bytes - 1, granules = (last >> granule_bits) - (offset >> granule_bits);
        if (granules < 8) return valid(address, bytes);
        // All but the last have to be full; of the last one, as much as the range has of it.
        const std::uint8_t* const shadow = shadow_ + (offset >> granule_bits);
        for (std::uint64_t g = 0; g + 8 < granules; g += 8)
            if (!eight_full(shadow + g)) return false;
        return eight_full(shadow + granules - 8) && last < (last >> granule_bits << granule_bits) + shadow[granules];
    }

private:
    /// True only when it is so; a range that is longer than a region is not looked at.
    [[nodiscard, gnu::always_inline]] bool in_whole_regions(std::uint64_t offset, std::uint32_t bytes) const {
        return bytes <= (1U << region_bits) && (regions_[offset >> region_bits] & regions_[(offset + bytes - 1) >> region_bits]) != 0;
    }
    static bool eight_full(const std::uint8_t* shadow) {
        std::uint64_t eight = 0;
        std::memcpy(&eight, shadow, sizeof eight);
        return eight == 0x0101010101010101ULL << granule_bits;
    }
    [[nodiscard]] bool registered(std::uint64_t address, std::uint32_t bytes) const;
    std::uint64_t find_space(std::uint64_t need, std::uint64_t alignment);
    [[nodiscard]] bool overlaps(std::uint64_t address, std::uint64_t bytes) const;
    void place(std::uint64_t address, std::uint64_t bytes, bool host_visible);
    void mark(std::uint64_t address, std::uint64_t bytes, bool valid);
    void mark_regions(std::uint64_t address, std::uint64_t bytes, bool valid);
    /// Address space that a block takes, guard included: whole pages, so that a freed block can be given back.
    [[nodiscard]] std::uint64_t footprint(std::uint64_t bytes) const;
    void add_hole(std::uint64_t start, std::uint64_t size);
    /// Map whole pages from `begin` on to pages that all large blocks share, or back to empty ones. Returns where they end.
    std::uint8_t* share_full(std::uint8_t* begin, std::uint8_t* end);
    static std::uint8_t* share_empty(std::uint8_t* begin, std::uint8_t* end);

    bool reserve_range(std::uint64_t bytes);

    std::uint8_t* shadow_ = nullptr;   // that of granules
    std::uint8_t* regions_ = nullptr;  // that of regions, behind it
    std::uint64_t range_ = 0;
    int full_pages_ = -1;  // file of shadow pages that are all valid
    std::map<std::uint64_t, Allocation> blocks_;
    std::map<std::uint64_t, std::uint64_t> host_ranges_;  // start -> bytes
    std::map<std::uint64_t, std::uint64_t> holes_;        // freed address ranges, start -> bytes with guard
    std::map<std::uint64_t, Allocation> freed_;           // kept for the sanitizers, see keep_freed
    std::map<std::uint64_t, Allocation> taken_;           // the same for blocks in address space that is still reserved
    mutable std::mutex mutex_;
    std::uint64_t next_ = 0;
    std::uint64_t in_use_ = 0;
    std::uint64_t limit_ = ~0ULL;
    std::uint32_t next_id_ = 0;
    std::uint64_t guard_ = guard;
    bool keep_freed_ = false;
};

}  // namespace hipscope
