// Numbers of bytes in messages.
#pragma once

#include <cstdint>
#include <string>

namespace hipscope {

inline std::string byte_count(std::uint64_t count) { return std::to_string(count) + (count == 1 ? " byte" : " bytes"); }

}  // namespace hipscope
