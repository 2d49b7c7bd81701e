// VGPR indexing (manual section 3.5.4): a register number plus M0[7:0], chosen per operand by M0[15:12].
#pragma once

#include "core/wave.hpp"

namespace hipscope::isa {

/// The instruction with the registers that M0 asks for moved, and the handler proper.
Instruction moved_by_index(const Wave& wave, const Instruction& in);

/// Runs it.
Step run_indexed(Wave& wave, const Instruction& in);

}  // namespace hipscope::isa
