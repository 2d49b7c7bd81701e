// The text of a device printf: C's format rules over 64-bit words, as clang and the ROCm device libraries send them.
#pragma once

#include <cstdint>
#include <span>
#include <string>

namespace hipscope {

/// `words`: the format string, padded to whole words, then one word for each number and the padded bytes of each string.
///
/// Integers are cut to the width that the conversion names, floating-point numbers are doubles. A conversion that is
/// not C's, or for which no word is left, is copied as it stands.
std::string format_device_text(std::span<const std::uint64_t> words);

/// The same with the format string apart (buffered printf keeps constant formats out of the message).
std::string format_device_text(const char* format, std::span<const std::uint64_t> arguments);

}  // namespace hipscope
