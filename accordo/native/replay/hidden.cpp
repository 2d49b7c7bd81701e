// Hidden arguments by their metadata name.
#include "replay/hidden.hpp"

#include <cstring>
#include <stdexcept>
#include <string_view>

namespace hipscope::gpu {

void fill_hidden(const std::vector<KernelArgument>& arguments, const std::array<std::uint32_t, 3>& grid,
                 const std::array<std::uint32_t, 3>& workgroup, std::uint32_t dynamic_lds, std::string& kernarg) {
    for (const KernelArgument& a : arguments) {
        const std::string_view kind = a.value_kind;
        if (!kind.starts_with("hidden_")) continue;
        const auto put = [&](auto value) {
            if (std::size_t{a.offset} + sizeof value > kernarg.size()) throw std::runtime_error("the metadata's arguments do not fit the segment");
            std::memcpy(kernarg.data() + a.offset, &value, sizeof value);
        };
        const auto axis = static_cast<std::size_t>(kind.back() - 'x');
        if (kind.starts_with("hidden_block_count_")) put(grid[axis] / workgroup[axis]);
        else if (kind.starts_with("hidden_group_size_")) put(static_cast<std::uint16_t>(workgroup[axis]));
        else if (kind.starts_with("hidden_remainder_")) put(static_cast<std::uint16_t>(grid[axis] % workgroup[axis]));
        else if (kind == "hidden_grid_dims") put(static_cast<std::uint16_t>(grid[2] > 1 ? 3 : grid[1] > 1 ? 2 : 1));
        else if (kind == "hidden_dynamic_lds_size") put(dynamic_lds);
        else if (kind == "hidden_hostcall_buffer" || kind == "hidden_heap_v1" || kind == "hidden_multigrid_sync_arg" || kind == "hidden_queue_ptr")
            throw std::runtime_error("the kernel needs a service of the HIP runtime (" + std::string(kind) + ") that a replay does not have");
    }
}

}  // namespace hipscope::gpu
