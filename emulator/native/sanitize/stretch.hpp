// Instructions that follow each other and only compute: what they need to be defined is asked once for all of them.
// In: a program and a place in it. Out: the registers that the instructions from there on read and write.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <vector>

#include "core/instruction.hpp"
#include "sanitize/flow.hpp"

namespace hipscope::sanitize {

struct Stretch {
    static constexpr std::uint32_t most = 32;

    std::uint32_t length = 0;                  // instructions; all go on with the next one, and none changes EXEC
    std::vector<std::uint16_t> reads, writes;  // VGPR rows; read before one of the instructions has written them
    ScalarSet scalar_reads, scalar_writes;
};

/// The longest stretch from instruction `first` on. `flow` gives the Flow of an instruction by its number.
Stretch stretch_from(const Program& program, std::size_t first, const std::function<const Flow&(std::size_t)>& flow);

}  // namespace hipscope::sanitize
