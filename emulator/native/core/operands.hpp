// The operands of an assembly line: registers, inline constants, literals, and the signs written around them.
#pragma once

#include <string_view>

#include "core/assembly_line.hpp"
#include "core/instruction.hpp"
#include "isa/entry.hpp"

namespace hipscope {

/// An operand of the given type with its sign modifiers. False when the text is not understood.
bool parse_operand(std::string_view s, isa::Type type, const Line& line, Operand& o);

}  // namespace hipscope
