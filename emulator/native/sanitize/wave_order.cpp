// Lanes of one wave that exchange values through LDS.
#include "sanitize/wave_order.hpp"

#include <algorithm>
#include <bit>

namespace hipscope::sanitize {
namespace {

/// Whether another lane of the same wave did it, with another instruction.
bool other_lane(const LdsTouch::By& before, const LdsTouch::By& mine) {
    return before.pc != 0 && before.pc != mine.pc && before.wave == mine.wave && before.lane != mine.lane && (before.mask & mine.mask) != 0;
}

}  // namespace

void LaneExchanges::access(const Wave& wave, const Found& found) {
    const MemoryAccess& made = wave.access;
    for (std::size_t which = 0; which < made.addresses; ++which)
        for (std::uint64_t rest = made.lanes; rest != 0; rest &= rest - 1) {
            const auto lane = static_cast<std::size_t>(std::countr_zero(rest));
            const std::uint64_t first = made.at(which, lane), end = first + made.bytes;
            for (std::uint64_t at = first & ~std::uint64_t{3}; at < end && at / 4 < words_.size(); at += 4) {
                LdsTouch& touch = words_[at / 4];
                if (touch.epoch != epoch_) touch = {{}, {}, epoch_};
                const std::uint64_t low = std::max(first, at) - at, high = std::min(end, at + 4) - at;
                const auto mask = static_cast<std::uint8_t>((1U << high) - (1U << low));
                const LdsTouch::By mine{wave.pc + 1, static_cast<std::uint8_t>(wave.id_in_group), static_cast<std::uint8_t>(lane), mask};
                if (made.kind == AccessKind::load) load(touch, mine, at, found);
                else if (made.kind == AccessKind::store) store(touch, mine, at, found);
                else touch = {{}, {}, epoch_};  // an atomic operation keeps its place
            }
        }
}

void LaneExchanges::load(LdsTouch& touch, const LdsTouch::By& mine, std::uint64_t address, const Found& found) const {
    if (other_lane(touch.wrote, mine)) found({touch.wrote.pc - 1, touch.wrote.lane, mine.lane, true, address});
    if (touch.read[0].lane != mine.lane || touch.read[0].wave != mine.wave) touch.read[1] = touch.read[0];
    touch.read[0] = mine;
}

void LaneExchanges::store(LdsTouch& touch, const LdsTouch::By& mine, std::uint64_t address, const Found& found) const {
    for (const LdsTouch::By& read : touch.read)
        if (other_lane(read, mine)) found({read.pc - 1, read.lane, mine.lane, false, address});
    touch.wrote = mine;
    touch.read = {};
}

}  // namespace hipscope::sanitize
