// One argument of a kernel as the metadata note describes it.
#pragma once

#include <cstdint>
#include <string>

namespace hipscope {

struct KernelArgument {
    std::uint32_t offset = 0;
    std::uint32_t size = 0;
    std::string value_kind;  // "global_buffer", "by_value", "hidden_block_count_x", ...
};

}  // namespace hipscope
