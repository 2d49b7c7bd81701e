// What is odd about memory that a program copies from the device to itself.
#pragma once

#include <cstddef>
#include <optional>
#include <string>

namespace hipscope {

/// Asked before the copy, which touches the pages: nothing was ever written to these bytes of device memory.
bool never_written(const void* from, std::size_t bytes);

/// The type of number that all of the bytes are NaN as ("float"); nothing when they are not, or too few to tell.
std::optional<std::string> all_nan(const char* data, std::size_t bytes);

}  // namespace hipscope
