// Overwrites what a kernel writes without reading it first: its replacement must not depend on those bytes either.
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "capture/trace.hpp"

namespace hipscope {

/// Fill the bytes of `data` that the reference writes before it reads them with a pattern of `seed` and `buffer`.
/// `mask` has one byte of access bits for each byte of the buffer (capture/trace.hpp).
inline void poison(char* data, std::size_t bytes, const std::string& mask, std::uint64_t seed, std::size_t buffer) {
    std::uint64_t random = seed * 0x9e3779b97f4a7c15ULL + buffer + 1;
    for (std::size_t i = 0; i < std::min(mask.size(), bytes); ++i) {
        random = random * 6364136223846793005ULL + 1442695040888963407ULL;
        const auto flags = static_cast<std::uint8_t>(mask[i]);
        if ((flags & access_bit::written) != 0 && (flags & access_bit::read_before_written) == 0)
            data[i] = static_cast<char>(random >> 56U);
    }
}

}  // namespace hipscope
