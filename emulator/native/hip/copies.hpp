// Copies and fills of boxes of memory, with HIP's checks.
#pragma once

#include "hip/abi.hpp"

namespace hipscope {

class Runtime;

/// Copy a box of bytes. An error when a side runs over its block of device memory, or a fault is pending.
abi::Error copy_box(Runtime& runtime, const abi::Memcpy3DParms& p);
/// Fill rows of elements of 1, 2 or 4 bytes.
abi::Error fill_box(Runtime& runtime, const abi::MemsetParams& p);

}  // namespace hipscope
