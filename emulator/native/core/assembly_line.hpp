// One line of llvm-objdump's text, cut into mnemonic, operands, modifiers, address and encoded words.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace hipscope {

inline constexpr std::size_t max_operands = 7;

/// One line cut into its parts.
struct Line {
    std::string_view text;        // mnemonic, operands and modifiers
    std::string_view mnemonic;
    std::array<std::string_view, max_operands> operands;
    std::size_t operand_count = 0;
    std::string_view modifiers;
    std::uint64_t address = 0;
    std::array<std::uint32_t, 4> words{};
    std::size_t word_count = 0;
};

/// Reads `// address: words` and the text before it. False when the line has no such comment.
bool split_comment(std::string_view raw, Line& line);

/// Cuts `a, b, c mod1 mod2` at top-level commas; what follows the last operand after a space are modifiers.
/// False when there are too many operands.
bool split_operands(Line& line);

/// The text after `name` in the modifiers (`offset:` -> "16"), or nothing.
std::string_view modifier(std::string_view modifiers, std::string_view name);
bool flag(std::string_view modifiers, std::string_view name);

/// A decimal or 0x number with an optional sign; 0 when it is none.
std::int32_t number(std::string_view s);

}  // namespace hipscope
