// Access maps.
#include "capture/trace.hpp"

#include <bit>

namespace hipscope {

AccessMap::AccessMap(const std::vector<CapturedBuffer>& buffers) : buffers_(buffers) {
    for (std::size_t i = 0; i < buffers.size(); ++i) {
        starts_.emplace(buffers[i].address, i);
        flags_.emplace_back(buffers[i].bytes);
    }
}

void AccessMap::note(const MemoryAccess& access) {
    if (access.space != Space::global && access.space != Space::scalar) return;
    if (access.space == Space::scalar) {
        note(access.address[0][0], access.bytes, access.kind);
        return;
    }
    for (std::uint64_t rest = access.lanes; rest != 0; rest &= rest - 1)
        note(access.address[0][std::countr_zero(rest)], access.bytes, access.kind);
}

void AccessMap::note(std::uint64_t address, std::uint32_t bytes, AccessKind kind) {
    auto found = starts_.upper_bound(address);
    if (found == starts_.begin()) return;
    const std::size_t index = (--found)->second;
    const std::uint64_t first = address - buffers_[index].address;
    std::vector<std::uint8_t>& flags = flags_[index];
    const bool atomic = kind == AccessKind::atomic || kind == AccessKind::atomic_return;
    for (std::uint64_t at = first; at < first + bytes && at < flags.size(); ++at) {
        std::uint8_t f = flags[at];
        if (kind == AccessKind::load || atomic) {
            if ((f & access_bit::written) == 0) f |= access_bit::read_before_written;
            f |= access_bit::read;
        }
        if (kind != AccessKind::load) f |= access_bit::written;
        if (atomic) f |= access_bit::atomic;
        flags[at] = f;
    }
}

}  // namespace hipscope
