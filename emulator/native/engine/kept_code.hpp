// Instructions that one process decodes once and all of its children use.
#pragma once

#include <string>

#include "engine/code_object.hpp"

namespace hipscope {

/// Decode the instructions of `elf` for every later `load_code_object` of the same bytes, in this process and in what it
/// forks: that is most of the time that a small launch takes. Throws std::runtime_error as that does.
void keep_decoded(const std::string& elf, const DisassemblySettings& settings);

}  // namespace hipscope
