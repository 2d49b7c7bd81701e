// See the header. Both tables lie in address space that costs nothing until it is touched.
#include "sanitize/shadow_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <stdexcept>
#include <vector>

namespace hipscope::sanitize {
namespace {

void* reserve(std::uint64_t bytes) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error("no address space left for the check of uninitialised reads");
    return at;
}

}  // namespace

ShadowMemory::ShadowMemory()
    : state_(static_cast<State*>(reserve(Memory::reserved >> page_bits))), bits_(static_cast<std::uint8_t*>(reserve(Memory::reserved))) {}

ShadowMemory::~ShadowMemory() {
    munmap(state_, Memory::reserved >> page_bits);
    munmap(bits_, Memory::reserved);
}

void ShadowMemory::mix(std::uint64_t page) {
    if (state_[page] == State::mixed) return;
    std::memset(bits_ + (page << page_bits), state_[page] == State::undefined ? 0xff : 0, page_bytes);
    state_[page] = State::mixed;
}

void ShadowMemory::undefine(std::uint64_t address, std::uint64_t bytes) {
    const std::uint64_t offset = address - Memory::base;
    if (bytes == 0 || offset >= Memory::reserved - bytes) return;
    const std::uint64_t first = offset >> page_bits, pages = ((offset + bytes - 1) >> page_bits) - first + 1;
    std::memset(state_ + first, static_cast<int>(State::undefined), pages);
}

void ShadowMemory::define(std::uint64_t address, std::uint64_t bytes) {
    const std::uint64_t offset = address - Memory::base;
    if (bytes == 0 || offset >= Memory::reserved - bytes) return;
    const std::uint64_t end = offset + bytes;
    for (std::uint64_t at = offset; at < end;) {
        const std::uint64_t page = at >> page_bits;
        const std::uint64_t here = std::min(end, (page + 1) << page_bits) - at;
        if (here == page_bytes) {
            state_[page] = State::defined;
        } else if (state_[page] != State::defined) {
            mix(page);
            std::memset(bits_ + at, 0, here);
        }
        at += here;
    }
}

void ShadowMemory::get(std::uint64_t address, std::uint32_t bytes, std::uint8_t* out) const {
    const std::uint64_t offset = address - Memory::base;
    std::memset(out, 0, bytes);
    if (offset >= Memory::reserved - bytes) return;
    for (std::uint32_t i = 0; i < bytes; ++i) {
        const State state = state_[(offset + i) >> page_bits];
        out[i] = state == State::defined ? 0 : state == State::undefined ? 0xff : bits_[offset + i];
    }
}

void ShadowMemory::set(std::uint64_t address, std::uint32_t bytes, const std::uint8_t* in) {
    const std::uint64_t offset = address - Memory::base;
    if (offset >= Memory::reserved - bytes) return;
    for (std::uint32_t i = 0; i < bytes; ++i) {
        const std::uint64_t page = (offset + i) >> page_bits;
        if (state_[page] == State::defined && in[i] == 0) continue;
        mix(page);
        bits_[offset + i] = in[i];
    }
}

void ShadowMemory::copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes) {
    if (defined(from, bytes)) return define(to, bytes);
    constexpr std::uint64_t piece = 64;
    std::vector<std::uint8_t> bits((bytes + piece - 1) / piece * piece);
    for (std::uint64_t at = 0; at < bytes; at += piece) get(from + at, static_cast<std::uint32_t>(std::min(piece, bytes - at)), bits.data() + at);
    for (std::uint64_t at = 0; at < bytes; at += piece) set(to + at, static_cast<std::uint32_t>(std::min(piece, bytes - at)), bits.data() + at);
}

}  // namespace hipscope::sanitize
