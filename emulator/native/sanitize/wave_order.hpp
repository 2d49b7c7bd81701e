// Lanes of one wave that exchange values through LDS: which instruction of the wave touched each word last, and for whom.
// In: the accesses of a workgroup to LDS. Out: pairs of instructions between which the workgroup met at no barrier.
//
// The hardware keeps the order of one wave's accesses to LDS, so such a pair is no race of the machine code. The compiler
// need not: whoever reads the source decides (analysis/inspection/wave_order.py).
#pragma once

#include <array>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/wave.hpp"

namespace hipscope::sanitize {

/// The last touches of one word of LDS since the workgroup's last barrier. `pc` counts from 1: 0 is none.
struct LdsTouch {
    struct By {
        std::uint32_t pc = 0;
        std::uint8_t wave = 0, lane = 0, mask = 0;  // of the word's bytes
    };
    By wrote;
    std::array<By, 2> read;  // the last two lanes that read it
    std::uint32_t epoch = 0;
};

/// A lane reads what another lane of its wave stored, or stores over what another has read.
struct LaneExchange {
    std::uint32_t first_pc = 0;
    int first_lane = 0, lane = 0;
    bool wrote_first = false;
    std::uint64_t address = 0;
};

class LaneExchanges {
public:
    using Found = std::function<void(const LaneExchange&)>;

    void start(std::uint32_t lds_bytes) {
        words_.assign((lds_bytes + 3) / 4, LdsTouch{});
        epoch_ = 1;
    }
    /// The workgroup has met.
    void barrier() { ++epoch_; }
    void access(const Wave& wave, const Found& found);

private:
    void load(LdsTouch& touch, const LdsTouch::By& mine, std::uint64_t address, const Found& found) const;
    void store(LdsTouch& touch, const LdsTouch::By& mine, std::uint64_t address, const Found& found) const;

    std::vector<LdsTouch> words_;
    std::uint32_t epoch_ = 1;
};

}  // namespace hipscope::sanitize
