// Which bits of device memory hold a defined value, in three steps: by page, by dword of a page that holds both kinds, and
// one bit for each in dwords that do.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "core/memory.hpp"
#include "sanitize/lanes.hpp"

namespace hipscope::sanitize {

/// Memory is defined until `undefine` says otherwise; so is all that lies outside of the device's address range.
class ShadowMemory {
public:
    ShadowMemory();
    ~ShadowMemory();
    ShadowMemory(const ShadowMemory&) = delete;
    ShadowMemory& operator=(const ShadowMemory&) = delete;

    /// A block of memory; it starts a page.
    void undefine_block(std::uint64_t address, std::uint64_t bytes);
    void undefine(std::uint64_t address, std::uint64_t bytes);
    void define(std::uint64_t address, std::uint64_t bytes);
    /// Like memmove of the values.
    void copy(std::uint64_t to, std::uint64_t from, std::uint64_t bytes);

    [[nodiscard]] bool defined(std::uint64_t address, std::uint64_t bytes) const {
        const std::uint64_t offset = address - Memory::base;
        if (offset >= Memory::reserved - bytes) return true;
        const std::uint64_t last = offset + bytes - 1;
        for (std::uint64_t page = offset >> page_bits; page <= last >> page_bits; ++page) {
            if (state_[page] == State::defined) continue;
            if (state_[page] == State::undefined) return false;
            const std::uint64_t start = page << page_bits;
            const std::uint64_t from = std::max(offset, start), end = std::min(last + 1, start + page_bytes);
            if (!defined_in(page, from - start, end - start)) return false;
        }
        return true;
    }
    /// True when all from the lowest address to the highest, of `bytes`, is defined, where that is known sooner than for each
    /// lane. False says nothing.
    [[nodiscard]] bool defined_span(Span span, std::uint32_t bytes) const {
        constexpr std::uint64_t few = 4, many = 1024;
        const std::uint64_t offset = span.lowest - Memory::base, end = span.highest - Memory::base + bytes;
        if (offset >= end || end >= Memory::reserved) return false;
        const std::uint64_t first = offset >> page_bits, count = ((end - 1) >> page_bits) - first + 1;
        if (count <= few) return defined(span.lowest, end - offset);
        return count <= many && zero(reinterpret_cast<const std::uint8_t*>(state_ + first), count);
    }
    /// The undefined bits of up to 64 bytes.
    void get(std::uint64_t address, std::uint32_t bytes, std::uint8_t* out) const;
    void set(std::uint64_t address, std::uint32_t bytes, const std::uint8_t* in);

private:
    enum class State : std::uint8_t { defined = 0, undefined, mixed };
    /// Of a mixed page, one bit for each dword: nothing in it is defined, or some of it.
    struct Dwords {
        static constexpr std::size_t words = 16;
        std::uint64_t undefined[words], mixed[words];
    };
    static constexpr unsigned page_bits = 12;
    static constexpr std::uint64_t page_bytes = 1U << page_bits, pages = Memory::reserved >> page_bits;
    static_assert(Dwords::words * 64 * 4 == page_bytes);

    /// Calls `part(page, from, end)` for the bytes [from, end) of each page of a range.
    template <class Part>
    static void each_page(std::uint64_t address, std::uint64_t bytes, const Part& part) {
        const std::uint64_t offset = address - Memory::base, end = offset + bytes;
        if (bytes == 0 || offset >= Memory::reserved - bytes) return;
        for (std::uint64_t at = offset; at < end;) {
            const std::uint64_t page = at >> page_bits, start = page << page_bits, stop = std::min(end, start + page_bytes);
            part(page, at - start, stop - start);
            at = stop;
        }
    }
    [[nodiscard]] bool defined_in(std::uint64_t page, std::uint64_t from, std::uint64_t end) const;
    void define_in(std::uint64_t page, std::uint64_t from, std::uint64_t end);
    void define_part(std::uint64_t page, std::uint64_t from, std::uint64_t end);
    void undefine_in(std::uint64_t page, std::uint64_t from, std::uint64_t end);
    void mix(std::uint64_t page);
    void mix_dword(std::uint64_t page, std::uint64_t dword);

    /// Bits [first, end) of a word.
    [[nodiscard]] static std::uint64_t bits_of(std::uint64_t first, std::uint64_t end) { return (~std::uint64_t{0} >> (64 - (end - first))) << first; }
    [[nodiscard]] static bool zero(const std::uint8_t* at, std::uint64_t bytes) {
        std::uint64_t any = 0;
        for (; bytes >= 8; bytes -= 8, at += 8) {
            std::uint64_t word = 0;
            std::memcpy(&word, at, 8);
            any |= word;
        }
        for (; bytes != 0; --bytes, ++at) any |= *at;
        return any == 0;
    }

    State* state_ = nullptr;        // of each page of the reserved range
    Dwords* dwords_ = nullptr;      // for mixed pages
    std::uint8_t* bits_ = nullptr;  // 1: undefined; for mixed dwords
};

}  // namespace hipscope::sanitize
