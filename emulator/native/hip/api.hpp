// What the files with exported functions share.
#pragma once

#include <mutex>

#include "hip/runtime.hpp"

#define HIPSCOPE_API extern "C" __attribute__((visibility("default")))

namespace hipscope {

/// The runtime, locked for one API call.
struct Call {
    Runtime& runtime = Runtime::get();
    std::lock_guard<std::recursive_mutex> lock{runtime.mutex};
    Runtime* operator->() { return &runtime; }
};

inline std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }
inline void* pointer_to(std::uint64_t address) {
    return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

/// Success, or the error that is noted for hipGetLastError.
inline abi::Error finish(abi::Error error) { return error == abi::error::success ? error : fail(error); }

}  // namespace hipscope
