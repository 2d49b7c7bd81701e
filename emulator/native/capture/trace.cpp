// Access maps.
#include "capture/trace.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

#include "core/populate.hpp"
#include "core/widest.hpp"

namespace hipscope {
namespace {

/// What an access adds to the flags of a byte, and what it adds where no write came before. A write says anew what number is there.
struct Added {
    std::uint8_t always, unwritten, kept;
};

Added added_by(AccessKind kind, std::uint8_t number) {
    const bool atomic = kind == AccessKind::atomic || kind == AccessKind::atomic_return, reads = kind == AccessKind::load || atomic;
    const bool writes = kind != AccessKind::load;
    const int always = (reads ? access_bit::read : 0) | (writes ? access_bit::written | number : 0) | (atomic ? access_bit::atomic : 0);
    return {static_cast<std::uint8_t>(always), reads ? access_bit::read_before_written : std::uint8_t{0},
            static_cast<std::uint8_t>(writes ? ~access_bit::stored : ~0)};
}

inline std::uint8_t noted(std::uint8_t flags, Added added) {
    const std::uint8_t first = (flags & access_bit::written) == 0 ? added.unwritten : std::uint8_t{0};
    return static_cast<std::uint8_t>((flags & added.kept) | added.always | first);
}

HIPSCOPE_WIDEST void note_many(std::uint8_t* flags, std::size_t count, Added added) {
    for (std::size_t i = 0; i < count; ++i) flags[i] = noted(flags[i], added);
}

constexpr std::uint64_t kFew = 16;

/// Whether bytes with these flags have seen such an access: then another one adds nothing, as what was read without `read_before_written` was written.
bool all_seen(const std::uint8_t* flags, std::uint64_t count, Added added) {
    if (count % sizeof(std::uint32_t) != 0) return false;
    const std::uint32_t seen = added.always * 0x01010101U;
    const std::uint32_t looked_at = static_cast<std::uint8_t>(added.always | ~added.kept) * 0x01010101U;
    for (std::uint64_t i = 0; i < count; i += sizeof seen) {
        std::uint32_t four = 0;
        std::memcpy(&four, flags + i, sizeof four);
        if ((four & looked_at) != seen) return false;
    }
    return true;
}

/// The flags of a number that starts at an address, where a number of its size may start.
std::uint8_t number_flags(sanitize::Number kind, std::uint64_t address, unsigned site) {
    using sanitize::Number;
    std::uint8_t flags = 0;
    if (kind == Number::f32 && address % 4 == 0) flags = access_bit::f32;
    else if (kind == Number::f64_low && address % 8 == 0) flags = access_bit::f64;
    else if ((kind == Number::half || kind == Number::halves) && address % 2 == 0) flags = access_bit::f16;
    else if ((kind == Number::brain || kind == Number::brains) && address % 2 == 0) flags = access_bit::bf16;
    return flags == 0 ? flags : static_cast<std::uint8_t>(flags + site % access_bit::sites * access_bit::next_site);
}

}  // namespace

AccessMap::AccessMap(const std::vector<CapturedBuffer>& buffers) : buffers_(buffers) {
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        starts_.emplace(buffers[i].address, i);
        auto* const zeros = static_cast<std::uint8_t*>(std::calloc(std::max<std::size_t>(buffers[i].bytes, 1), 1));
        if (zeros == nullptr) throw std::bad_alloc();
        flags_.push_back({{zeros, &std::free}, std::vector<bool>(buffers[i].bytes / kRunBytes + 1)});
    }
}

void AccessMap::populate(std::size_t buffer, std::size_t offset, std::size_t bytes) {
    const auto start = reinterpret_cast<std::uint64_t>(flags_[buffer].bytes.get()) + offset;
    hipscope::populate(start, start + std::min(bytes, buffers_[buffer].bytes - offset));
}

void AccessMap::note(const MemoryAccess& access, const sanitize::StoredKinds& stored) {
    if (access.space != Space::global && access.space != Space::scalar) return;
    if (access.space == Space::scalar) {
        note(access.address[0][0], access.bytes, access.kind, 0);
        return;
    }
    if (!stored.same) return note_cells(access, stored);
    const bool atomic = access.kind == AccessKind::atomic || access.kind == AccessKind::atomic_return;
    for (std::uint64_t rest = access.lanes; rest != 0;) {
        const std::uint64_t first = access.address[0][std::countr_zero(rest)];
        std::uint64_t bytes = access.bytes;
        rest &= rest - 1;
        // Lanes side by side or on one place are one access; atomics on one place are as many as there are lanes.
        while (!atomic && rest != 0) {
            const std::uint64_t next = access.address[0][std::countr_zero(rest)] - first;
            if (next == bytes) bytes += access.bytes;
            else if (next > bytes - access.bytes || next % access.bytes != 0) break;
            rest &= rest - 1;
        }
        note(first, bytes, access.kind, number_flags(stored.kind, first, stored.site));
    }
}

/// Lane by lane, 16 bits at a time.
void AccessMap::note_cells(const MemoryAccess& access, const sanitize::StoredKinds& stored) {
    using sanitize::Number;
    for (std::uint64_t rest = access.lanes; rest != 0; rest &= rest - 1) {
        const int lane = std::countr_zero(rest);
        const auto& cells = stored.cells[static_cast<std::size_t>(lane)];
        const std::uint64_t first = access.address[0][lane];
        for (std::size_t c = 0; c * 2 < access.bytes; ++c) {
            Number kind = c < cells.size() ? cells[c] : Number::none;
            // A double is one where both of its halves are.
            const std::size_t whole = c / 4 * 4;
            const bool wide = whole + 3 < cells.size() && cells[whole] == Number::f64_low && cells[whole + 2] == Number::f64_high;
            if (kind == Number::f64_low || kind == Number::f64_high) kind = wide ? Number::f64_low : Number::none;
            const std::uint64_t start = first + (kind == Number::f64_low ? whole : kind == Number::f32 ? c / 2 * 2 : c) * 2;
            note(first + c * 2, std::min<std::uint64_t>(2, access.bytes - c * 2), access.kind, number_flags(kind, start, stored.site));
        }
    }
}

bool AccessMap::find(std::uint64_t address) {
    if (buffers_.empty()) return false;
    if (address - buffers_[last_].address < buffers_[last_].bytes) return true;
    auto found = starts_.upper_bound(address);
    if (found == starts_.begin()) return false;
    last_ = (--found)->second;
    return address - buffers_[last_].address < buffers_[last_].bytes;
}

void AccessMap::note(std::uint64_t address, std::uint64_t bytes, AccessKind kind, std::uint8_t number) {
    if (bytes == 0 || !find(address)) return;
    const std::size_t index = last_;
    const std::uint64_t first = address - buffers_[index].address, size = buffers_[index].bytes;
    const std::uint64_t end = std::min<std::uint64_t>(first + bytes, size);
    Flags& flags = flags_[index];
    const Added added = added_by(kind, number);
    std::uint8_t* const at = flags.bytes.get() + first;
    if (end - first <= kFew && all_seen(at, end - first, added)) return;
    for (std::uint64_t block = first / kRunBytes; block <= (end - 1) / kRunBytes; ++block) flags.blocks[block] = true;
    if (end - first > kFew) return note_many(at, end - first, added);
    for (std::uint64_t i = 0; i < end - first; ++i) at[i] = noted(at[i], added);
}

sanitize::Number AccessMap::number_at(std::uint64_t address) {
    using sanitize::Number;
    if (!find(address)) return Number::none;
    const std::uint64_t at = address - buffers_[last_].address;
    const unsigned stored = flags_[last_].bytes.get()[at] & access_bit::stored;
    if (stored >= access_bit::bf16) return Number::brain;
    if (stored >= access_bit::f16) return Number::half;
    if (stored >= access_bit::f64) return address % 8 < 4 ? Number::f64_low : Number::f64_high;
    return stored >= access_bit::f32 ? Number::f32 : Number::none;
}

std::string_view AccessMap::flags(std::size_t buffer) const {
    return {reinterpret_cast<const char*>(flags_[buffer].bytes.get()), buffers_[buffer].bytes};
}

std::vector<Run> AccessMap::accessed(std::size_t buffer) const {
    const std::string_view all = flags(buffer);
    const std::vector<bool>& blocks = flags_[buffer].blocks;
    std::vector<Run> runs;
    for (std::size_t block = 0; block < blocks.size(); ++block) {
        if (!blocks[block]) continue;
        const std::size_t first = block;
        while (block + 1 < blocks.size() && blocks[block + 1]) ++block;
        runs.push_back({first * kRunBytes, all.substr(first * kRunBytes, (block + 1 - first) * kRunBytes)});
    }
    return runs;
}

}  // namespace hipscope
