// Turns LLVM's disassembly of a code object into decoded instructions.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "core/instruction.hpp"

namespace hipscope {

struct Undecoded {
    std::uint64_t address = 0;
    std::string text;      // the assembly line
    std::string reason;    // "unknown mnemonic v_foo_b32", "unknown operand ttmp12", ...
};

struct Disassembly {
    Program program;
    std::vector<Undecoded> unsupported;  // their Instruction::run is nullptr
};

/// Decode the output of `llvm-objdump -d` (all executable sections, `// address: words` comments kept).
/// `target` ("gfx942", "gfx90a", "gfx950") chooses between rows where the targets differ in meaning.
///
/// Never throws on odd text: a line that is not understood becomes an entry of `unsupported`.
Disassembly decode(std::string_view objdump_text, std::string_view target = "gfx942");

/// Every mnemonic the table executes, sorted (for the coverage report and the tests).
std::vector<std::string_view> supported_mnemonics();

}  // namespace hipscope
