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

/// What an access adds to the flags of a byte, and what it adds where no write came before.
struct Added {
    std::uint8_t always, unwritten;
};

Added added_by(AccessKind kind) {
    const bool atomic = kind == AccessKind::atomic || kind == AccessKind::atomic_return, reads = kind == AccessKind::load || atomic;
    const int always = (reads ? access_bit::read : 0) | (kind != AccessKind::load ? access_bit::written : 0) | (atomic ? access_bit::atomic : 0);
    return {static_cast<std::uint8_t>(always), reads ? access_bit::read_before_written : std::uint8_t{0}};
}

inline std::uint8_t noted(std::uint8_t flags, Added added) {
    const std::uint8_t first = (flags & access_bit::written) == 0 ? added.unwritten : std::uint8_t{0};
    return static_cast<std::uint8_t>(flags | added.always | first);
}

HIPSCOPE_WIDEST void note_many(std::uint8_t* flags, std::size_t count, Added added) {
    for (std::size_t i = 0; i < count; ++i) flags[i] = noted(flags[i], added);
}

constexpr std::uint64_t kFew = 16;

/// Whether bytes with these flags have seen such an access: then another one adds nothing, as what was read without `read_before_written` was written.
bool all_seen(const std::uint8_t* flags, std::uint64_t count, Added added) {
    if (count % sizeof(std::uint32_t) != 0) return false;
    const std::uint32_t seen = added.always * 0x01010101U;
    for (std::uint64_t i = 0; i < count; i += sizeof seen) {
        std::uint32_t four = 0;
        std::memcpy(&four, flags + i, sizeof four);
        if ((four & seen) != seen) return false;
    }
    return true;
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

void AccessMap::note(const MemoryAccess& access) {
    if (access.space != Space::global && access.space != Space::scalar) return;
    if (access.space == Space::scalar) {
        note(access.address[0][0], access.bytes, access.kind);
        return;
    }
    const bool atomic = access.kind == AccessKind::atomic || access.kind == AccessKind::atomic_return;
    for (std::uint64_t rest = access.lanes; rest != 0;) {
        const std::uint64_t first = access.address[0][std::countr_zero(rest)];
        std::uint64_t bytes = access.bytes;
        rest &= rest - 1;
        // Lanes side by side or on one place are one access; atomics on one place are as many as there are lanes.
        while (!atomic && rest != 0) {
            const std::uint64_t next = access.address[0][std::countr_zero(rest)] - first;
            if (next == bytes) bytes += access.bytes;
            else if (next > bytes - access.bytes) break;
            rest &= rest - 1;
        }
        note(first, bytes, access.kind);
    }
}

void AccessMap::note(std::uint64_t address, std::uint64_t bytes, AccessKind kind) {
    if (buffers_.empty()) return;
    if (address - buffers_[last_].address >= buffers_[last_].bytes) {
        auto found = starts_.upper_bound(address);
        if (found == starts_.begin()) return;
        last_ = (--found)->second;
    }
    const std::size_t index = last_;
    const std::uint64_t first = address - buffers_[index].address, size = buffers_[index].bytes;
    if (first >= size || bytes == 0) return;
    const std::uint64_t end = std::min<std::uint64_t>(first + bytes, size);
    Flags& flags = flags_[index];
    const Added added = added_by(kind);
    std::uint8_t* const at = flags.bytes.get() + first;
    if (end - first <= kFew && all_seen(at, end - first, added)) return;
    for (std::uint64_t block = first / kRunBytes; block <= (end - 1) / kRunBytes; ++block) flags.blocks[block] = true;
    if (end - first > kFew) return note_many(at, end - first, added);
    for (std::uint64_t i = 0; i < end - first; ++i) at[i] = noted(at[i], added);
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
