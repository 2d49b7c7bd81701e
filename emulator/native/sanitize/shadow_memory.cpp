// See the header. All tables lie in address space that costs nothing until it is touched.
#include "sanitize/shadow_memory.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <bit>
#include <iterator>
#include <vector>

#include "sanitize/reserve.hpp"

namespace hipscope::sanitize {
namespace {

constexpr const char* kNeed = "the check of uninitialised reads";

}  // namespace

ShadowMemory::ShadowMemory()
    : state_(static_cast<State*>(reserve(pages, kNeed))),
      dwords_(static_cast<Dwords*>(reserve(pages * sizeof(Dwords), kNeed))),
      bits_(static_cast<std::uint8_t*>(reserve(Memory::reserved, kNeed))) {}

ShadowMemory::~ShadowMemory() {
    munmap(state_, pages);
    munmap(dwords_, pages * sizeof(Dwords));
    munmap(bits_, Memory::reserved);
}

void ShadowMemory::mix(std::uint64_t page) {
    if (state_[page] == State::mixed) return;
    Dwords& d = dwords_[page];
    std::fill(std::begin(d.undefined), std::end(d.undefined), state_[page] == State::undefined ? ~std::uint64_t{0} : 0);
    std::fill(std::begin(d.mixed), std::end(d.mixed), 0);
    state_[page] = State::mixed;
}

/// Give a dword of a mixed page bits of its own.
void ShadowMemory::mix_dword(std::uint64_t page, std::uint64_t dword) {
    Dwords& d = dwords_[page];
    const std::uint64_t bit = std::uint64_t{1} << dword % 64;
    std::uint64_t &undefined = d.undefined[dword / 64], &mixed = d.mixed[dword / 64];
    if ((mixed & bit) != 0) return;
    std::memset(bits_ + (page << page_bits) + dword * 4, (undefined & bit) != 0 ? 0xff : 0, 4);
    undefined &= ~bit;
    mixed |= bit;
}

void ShadowMemory::undefine_block(std::uint64_t address, std::uint64_t bytes) {
    const std::uint64_t offset = address - Memory::base;
    if (bytes == 0 || offset >= Memory::reserved - bytes) return;
    const std::uint64_t first = offset >> page_bits, count = ((offset + bytes - 1) >> page_bits) - first + 1;
    std::memset(state_ + first, static_cast<int>(State::undefined), count);
    // The rest of the block's last page belongs to no block: once the block is defined, the page is.
    if (const std::uint64_t rest = bytes % page_bytes; rest != 0) define(address + bytes, page_bytes - rest);
}

void ShadowMemory::define(std::uint64_t address, std::uint64_t bytes) {
    each_page(address, bytes, [this](std::uint64_t page, std::uint64_t from, std::uint64_t end) {
        if (end - from == page_bytes) state_[page] = State::defined;
        else if (state_[page] != State::defined) define_in(page, from, end);
    });
}

void ShadowMemory::undefine(std::uint64_t address, std::uint64_t bytes) {
    each_page(address, bytes, [this](std::uint64_t page, std::uint64_t from, std::uint64_t end) {
        if (end - from == page_bytes) state_[page] = State::undefined;
        else if (state_[page] != State::undefined) undefine_in(page, from, end);
    });
}

/// Bytes [from, end) of a page that is not defined as a whole.
void ShadowMemory::define_in(std::uint64_t page, std::uint64_t from, std::uint64_t end) {
    mix(page);
    Dwords& d = dwords_[page];
    bool cleared = false;  // the last bits of a word
    for (std::uint64_t dword = from / 4; dword < (end + 3) / 4;) {
        const std::uint64_t next = std::min((end + 3) / 4, (dword / 64 + 1) * 64);
        std::uint64_t &undefined = d.undefined[dword / 64], &mixed = d.mixed[dword / 64];
        std::uint64_t whole = bits_of(dword % 64, (next - 1) % 64 + 1);
        if (dword * 4 < from) {
            define_part(page, from, std::min(end, dword * 4 + 4));
            whole &= ~(std::uint64_t{1} << dword % 64);
        }
        if (next * 4 > end && (next - 1) * 4 >= from) {
            define_part(page, (next - 1) * 4, end);
            whole &= ~(std::uint64_t{1} << (next - 1) % 64);
        }
        undefined &= ~whole;
        mixed &= ~whole;
        cleared |= (undefined | mixed) == 0;
        dword = next;
    }
    if (!cleared) return;
    const auto none = [](const auto& words) { return std::all_of(std::begin(words), std::end(words), [](std::uint64_t word) { return word == 0; }); };
    if (none(d.undefined) && none(d.mixed)) state_[page] = State::defined;
}

/// Bytes [from, end) of a page that is not undefined as a whole.
void ShadowMemory::undefine_in(std::uint64_t page, std::uint64_t from, std::uint64_t end) {
    mix(page);
    Dwords& d = dwords_[page];
    for (std::uint64_t at = from; at < end;) {
        const std::uint64_t dword = at / 4, next = std::min(end, (dword + 1) * 4), bit = std::uint64_t{1} << dword % 64;
        if (next - at == 4) {
            d.undefined[dword / 64] |= bit;
            d.mixed[dword / 64] &= ~bit;
        } else {
            mix_dword(page, dword);
            std::memset(bits_ + (page << page_bits) + at, 0xff, next - at);
        }
        at = next;
    }
}

/// Some bytes of one dword of a mixed page.
void ShadowMemory::define_part(std::uint64_t page, std::uint64_t from, std::uint64_t end) {
    const std::uint64_t dword = from / 4;
    mix_dword(page, dword);
    std::uint8_t* const bits = bits_ + (page << page_bits);
    std::memset(bits + from, 0, end - from);
    if (zero(bits + dword * 4, 4)) dwords_[page].mixed[dword / 64] &= ~(std::uint64_t{1} << dword % 64);
}

/// Bytes [from, end) of a mixed page.
bool ShadowMemory::defined_in(std::uint64_t page, std::uint64_t from, std::uint64_t end) const {
    const Dwords& d = dwords_[page];
    for (std::uint64_t dword = from / 4; dword < (end + 3) / 4;) {
        const std::uint64_t next = std::min((end + 3) / 4, (dword / 64 + 1) * 64);
        const std::uint64_t touched = bits_of(dword % 64, (next - 1) % 64 + 1);
        if ((d.undefined[dword / 64] & touched) != 0) return false;
        for (std::uint64_t left = d.mixed[dword / 64] & touched; left != 0; left &= left - 1) {
            const std::uint64_t at = (dword / 64 * 64 + static_cast<std::uint64_t>(std::countr_zero(left))) * 4;
            const std::uint64_t first = std::max(at, from), last = std::min(at + 4, end);
            if (!zero(bits_ + (page << page_bits) + first, last - first)) return false;
        }
        dword = next;
    }
    return true;
}

void ShadowMemory::get(std::uint64_t address, std::uint32_t bytes, std::uint8_t* out) const {
    const std::uint64_t offset = address - Memory::base;
    std::memset(out, 0, bytes);
    if (offset >= Memory::reserved - bytes) return;
    for (std::uint32_t i = 0; i < bytes; ++i) {
        const std::uint64_t page = (offset + i) >> page_bits, dword = ((offset + i) & (page_bytes - 1)) / 4;
        if (state_[page] == State::defined) continue;
        const Dwords& d = dwords_[page];
        if (state_[page] == State::undefined || ((d.undefined[dword / 64] >> dword % 64) & 1U) != 0) out[i] = 0xff;
        else if (((d.mixed[dword / 64] >> dword % 64) & 1U) != 0) out[i] = bits_[offset + i];
    }
}

void ShadowMemory::set(std::uint64_t address, std::uint32_t bytes, const std::uint8_t* in) {
    const std::uint64_t offset = address - Memory::base;
    if (offset >= Memory::reserved - bytes) return;
    for (std::uint32_t i = 0; i < bytes; ++i) {
        const std::uint64_t page = (offset + i) >> page_bits;
        if (state_[page] == State::defined && in[i] == 0) continue;
        mix(page);
        mix_dword(page, ((offset + i) & (page_bytes - 1)) / 4);
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
