// The hidden part of a kernarg segment (LLVM AMDGPUUsage, "Code Object V5 Metadata": hidden arguments).
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "engine/kernel_argument.hpp"

namespace hipscope::gpu {

/// Fill in what follows from the launch shape. Throws std::runtime_error when the kernel needs a service of the HIP
/// runtime (printf, malloc, grid-wide synchronisation), which a replay does not have.
void fill_hidden(const std::vector<KernelArgument>& arguments, const std::array<std::uint32_t, 3>& grid,
                 const std::array<std::uint32_t, 3>& workgroup, std::uint32_t dynamic_lds, std::string& kernarg);

}  // namespace hipscope::gpu
