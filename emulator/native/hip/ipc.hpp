// Blocks of device memory that other processes use as well (hipIpcGetMemHandle, hipIpcOpenMemHandle).
#pragma once

#include <cstdint>

namespace hipscope {

/// Before a block ends: what other processes have of it is theirs alone from now on.
void end_sharing(std::uint64_t address);
/// True for a block that belongs to another process; hipIpcCloseMemHandle ends it here.
bool is_of_another_process(std::uint64_t address);

}  // namespace hipscope
