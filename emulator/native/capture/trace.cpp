// Access maps.
#include "capture/trace.hpp"

#include <algorithm>
#include <bit>
#include <cstring>
#include <new>

namespace hipscope {
namespace {

constexpr std::uint64_t kEach = 0x0101010101010101ULL;

/// The flags of eight bytes after an access to all of them.
std::uint64_t noted(std::uint64_t flags, AccessKind kind) {
    const bool atomic = kind == AccessKind::atomic || kind == AccessKind::atomic_return;
    if (kind == AccessKind::load || atomic)
        flags |= (~(flags >> 1U) & kEach) * access_bit::read_before_written | kEach * access_bit::read;
    if (kind != AccessKind::load) flags |= kEach * access_bit::written;
    if (atomic) flags |= kEach * access_bit::atomic;
    return flags;
}
static_assert(access_bit::read_before_written == 1 && access_bit::written == 2);

}  // namespace

AccessMap::AccessMap(const std::vector<CapturedBuffer>& buffers) : buffers_(buffers) {
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        starts_.emplace(buffers[i].address, i);
        auto* const zeros = static_cast<std::uint8_t*>(std::calloc(std::max<std::size_t>(buffers[i].bytes, 1), 1));
        if (zeros == nullptr) throw std::bad_alloc();
        flags_.push_back({{zeros, &std::free}, std::vector<bool>(buffers[i].bytes / kRunBytes + 1)});
    }
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
        // Lanes side by side are one access; atomics on one place are as many as there are lanes.
        while (!atomic && rest != 0 && access.address[0][std::countr_zero(rest)] == first + bytes) {
            bytes += access.bytes;
            rest &= rest - 1;
        }
        note(first, bytes, access.kind);
    }
}

void AccessMap::note(std::uint64_t address, std::uint64_t bytes, AccessKind kind) {
    auto found = starts_.upper_bound(address);
    if (found == starts_.begin()) return;
    const std::size_t index = (--found)->second;
    const std::uint64_t first = address - buffers_[index].address, size = buffers_[index].bytes;
    if (first >= size || bytes == 0) return;
    const std::uint64_t end = std::min<std::uint64_t>(first + bytes, size);
    Flags& flags = flags_[index];
    for (std::uint64_t block = first / kRunBytes; block <= (end - 1) / kRunBytes; ++block) flags.blocks[block] = true;
    std::uint8_t* at = flags.bytes.get() + first;
    std::uint64_t left = end - first;
    for (; left >= 8; left -= 8, at += 8) {
        std::uint64_t eight = 0;
        std::memcpy(&eight, at, 8);
        eight = noted(eight, kind);
        std::memcpy(at, &eight, 8);
    }
    if (left > 0) {
        std::uint64_t rest = 0;
        std::memcpy(&rest, at, left);
        rest = noted(rest, kind);
        std::memcpy(at, &rest, left);
    }
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
