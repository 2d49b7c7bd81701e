// Copies and fills of boxes of memory, with HIP's checks.
#pragma once

#include <optional>

#include "hip/abi.hpp"
#include "hip/graph.hpp"

namespace hipscope {

/// Copy a box of bytes. An error when a side runs over its block of device memory, or a fault is pending.
abi::Error copy_box(Runtime& runtime, const abi::Memcpy3DParms& p);
/// Fill rows of elements of 1, 2 or 4 bytes.
abi::Error fill_box(Runtime& runtime, const abi::MemsetParams& p);
/// The copy that a HIP_MEMCPY3D describes; nullopt for nullptr and, with a line, when arrays take part.
std::optional<CopyWork> driver_copy(Runtime& runtime, const abi::DriverMemcpy3D* p);
/// The other way round: the HIP_MEMCPY3D of a copy.
void tell_driver_copy(const CopyWork& work, abi::DriverMemcpy3D& to);

}  // namespace hipscope
