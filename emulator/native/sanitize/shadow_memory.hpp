// Which bits of device memory hold a defined value: one bit for each, kept for pages that hold both kinds only.
#pragma once

#include <cstdint>
#include <cstring>

#include "core/memory.hpp"

namespace hipscope::sanitize {

/// Memory is defined until `undefine` says otherwise; so is all that lies outside of the device's address range.
class ShadowMemory {
public:
    ShadowMemory();
    ~ShadowMemory();
    ShadowMemory(const ShadowMemory&) = delete;
    ShadowMemory& operator=(const ShadowMemory&) = delete;

    /// Whole pages from `address`, which starts one, on.
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
            const std::uint64_t from = offset > page << page_bits ? offset : page << page_bits;
            const std::uint64_t end = last + 1 < (page + 1) << page_bits ? last + 1 : (page + 1) << page_bits;
            if (!zero(bits_ + from, end - from)) return false;
        }
        return true;
    }
    /// The undefined bits of up to 64 bytes.
    void get(std::uint64_t address, std::uint32_t bytes, std::uint8_t* out) const;
    void set(std::uint64_t address, std::uint32_t bytes, const std::uint8_t* in);

private:
    enum class State : std::uint8_t { defined, undefined, mixed };
    static constexpr unsigned page_bits = 12;
    static constexpr std::uint64_t page_bytes = 1U << page_bits;

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
    void mix(std::uint64_t page);

    State* state_ = nullptr;        // of each page of the reserved range
    std::uint8_t* bits_ = nullptr;  // 1: undefined; for mixed pages
};

}  // namespace hipscope::sanitize
