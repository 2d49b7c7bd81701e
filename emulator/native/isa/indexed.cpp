// See the header. Rare (register arrays with a computed index), so the instruction is simply copied.
#include "isa/indexed.hpp"

namespace hipscope::isa {

Instruction moved_by_index(const Wave& wave, const Instruction& in) {
    const std::uint32_t m0 = wave.sgpr[sreg::m0];
    const auto offset = static_cast<std::uint16_t>(m0 & 0xffU);
    const std::uint32_t chosen = (m0 >> 12U) & 15U;
    Instruction moved = in;
    const auto move = [&](Operand& o, std::uint32_t bit) {
        if ((chosen & bit) != 0 && o.kind == OperandKind::vgpr) o.index = static_cast<std::uint16_t>((o.index + offset) & 0xffU);
    };
    move(moved.source[0], 1);
    move(moved.source[1], 2);
    move(moved.source[2], 4);
    move(moved.destination[0], 8);
    moved.run = in.unindexed;
    return moved;
}

Step run_indexed(Wave& wave, const Instruction& in) { return in.unindexed(wave, moved_by_index(wave, in)); }

}  // namespace hipscope::isa
