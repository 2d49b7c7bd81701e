// Which lanes of a wave the LDS serves together, and over how many banks: by direction and width, from the device table.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

#include "core/wave.hpp"
#include "engine/device_config.hpp"

namespace hipscope {

/// How accesses of one direction and width are served: set by set, and in a set as often as the fullest bank has words to give.
struct LdsRow {
    int banks = 0;
    int sets = 0, lanes_per_set = 0;
    int run_conflicts = 0;                         // cycles that conflicts add when all lanes follow each other
    std::array<std::array<std::uint8_t, 32>, 8> lane{};  // of each set
};

class LdsRows {
public:
    static constexpr int kMostBanks = 64;

    /// Reads `lds_read_b32` to `lds_write_b128`: "32 banks: 0-3 20-23, 4-7 16-19" names the lanes of the first sets, the others are as far
    /// apart. Throws std::runtime_error naming the key when it is missing or its sets do not cover a wave.
    static LdsRows from(const DeviceConfig& config);

    /// Atomics are served as stores of their width.
    [[nodiscard]] const LdsRow& of(AccessKind kind, unsigned bytes) const {
        return rows_[kind == AccessKind::load ? 0 : 1][bytes <= 4 ? 0 : bytes <= 8 ? 1 : bytes <= 12 ? 2 : 3];
    }

private:
    std::array<std::array<LdsRow, 4>, 2> rows_{};
};

/// The cycles that conflicts add to one set of a row: `dwords` are the lanes' first words, `per_lane` how many each has.
int set_conflicts(const LdsRow& row, std::size_t set, const std::uint32_t* dwords, std::uint64_t active, int per_lane);

}  // namespace hipscope
