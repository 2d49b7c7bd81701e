// The variable that names a stray access beside it: programs know their variables, not the block that holds them.
#pragma once

#include <cstdint>
#include <string>

#include "engine/code_object.hpp"

namespace hipscope {

/// "4 bytes after the end of the device variable `weights` of 64 bytes": the one that `address` is in or nearest to. Empty when
/// `block` is not where the code object lies, or when that has no variables.
std::string beside_variable(const CodeObject& object, std::uint64_t block, std::uint64_t address);

}  // namespace hipscope
