// Instructions that the targets have and the emulator refuses, each with its reason. docs/emulator/instructions.md shows the same list.
#pragma once

#include <span>
#include <string_view>

namespace hipscope::isa {

struct Refused {
    std::string_view name;    // a mnemonic, or a prefix that ends in '_'
    std::string_view reason;
};

std::span<const Refused> refused();

/// Why `name` is refused, or nothing.
std::string_view reason_for(std::string_view name);

}  // namespace hipscope::isa
