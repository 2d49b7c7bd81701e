// See ScratchShadow.
#include <algorithm>

#include "sanitize/uninitialised.hpp"

namespace hipscope::sanitize {

void ScratchShadow::start(std::uint32_t bytes_per_lane) {
    per_lane_ = bytes_per_lane;
    whole_.assign((bytes_per_lane + 3) / 4, 0);
    if (cells_.empty()) cells_.assign(std::size_t{bytes_per_lane} * kLanes, 0xff);
    else
        for (int lane = 0; lane < kLanes && touched_ != 0; ++lane) std::fill_n(&cell(lane, 0), touched_, std::uint8_t{0xff});
    touched_ = 0;
}

bool ScratchShadow::defined(std::uint64_t lanes, std::uint64_t address, std::uint32_t bytes) const {
    for (std::uint64_t word = address >> 2U; word <= (address + bytes - 1) >> 2U; ++word) {
        const std::uint64_t first = std::max(address, word << 2U), end = std::min(address + bytes, (word + 1) << 2U);
        for (std::uint64_t left = lanes & ~whole_[word]; left != 0; left &= left - 1)
            for (std::uint64_t at = first; at < end; ++at)
                if (cell(std::countr_zero(left), at) != 0) return false;
    }
    return true;
}

void ScratchShadow::define(std::uint64_t lanes, std::uint64_t address, std::uint32_t bytes) {
    for (std::uint64_t word = address >> 2U; word <= (address + bytes - 1) >> 2U; ++word) {
        const std::uint64_t first = std::max(address, word << 2U), end = std::min(address + bytes, (word + 1) << 2U);
        if (end - first == 4) {
            whole_[word] |= lanes;
            continue;
        }
        for (std::uint64_t left = lanes & ~whole_[word]; left != 0; left &= left - 1)
            for (std::uint64_t at = first; at < end; ++at) cell(std::countr_zero(left), at) = 0;
        touched_ = std::max(touched_, static_cast<std::uint32_t>(end));
    }
}

void ScratchShadow::get(int lane, std::uint64_t address, std::uint32_t bytes, std::uint8_t* out) const {
    for (std::uint32_t i = 0; i < bytes; ++i) out[i] = ((whole_[(address + i) >> 2U] >> static_cast<unsigned>(lane)) & 1U) != 0 ? 0 : cell(lane, address + i);
}

void ScratchShadow::set(int lane, std::uint64_t address, std::uint32_t bytes, const std::uint8_t* in) {
    const std::uint64_t bit = std::uint64_t{1} << static_cast<unsigned>(lane);
    for (std::uint32_t i = 0; i < bytes; ++i) {
        const std::uint64_t at = address + i;
        std::uint64_t& whole = whole_[at >> 2U];
        if ((whole & bit) != 0) {
            if (in[i] == 0) continue;
            for (std::uint64_t n = at & ~std::uint64_t{3}; n < (at | 3U) + 1 && n < per_lane_; ++n) cell(lane, n) = 0;
            whole &= ~bit;
        }
        cell(lane, at) = in[i];
    }
    touched_ = std::max(touched_, static_cast<std::uint32_t>(std::min<std::uint64_t>((address + bytes + 3) & ~std::uint64_t{3}, per_lane_)));
}

}  // namespace hipscope::sanitize
