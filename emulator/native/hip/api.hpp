// What the files with exported functions share.
#pragma once

#include <mutex>
#include <span>

#include "hip/runtime.hpp"

#define HIPSCOPE_API extern "C" __attribute__((visibility("default")))

namespace hipscope {

/// The runtime, locked for one API call.
struct Call {
    Runtime& runtime = Runtime::get();
    std::lock_guard<std::recursive_mutex> lock{runtime.mutex};
    Call() {
        if (!runtime.parked.empty()) runtime.parked.advance(runtime, runtime.host_ns);  // the host may have written a value
    }
    Runtime* operator->() { return &runtime; }
};

/// What the null stream means to functions whose name ends in _spt: the calling thread's own default stream.
inline Stream* per_thread(Stream* stream) { return stream == nullptr ? reinterpret_cast<Stream*>(2) : stream; }  // NOLINT

inline std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }
inline void* pointer_to(std::uint64_t address) {
    return reinterpret_cast<void*>(address);  // NOLINT(performance-no-int-to-ptr)
}

/// What HIP_LAUNCH_PARAM_BUFFER_POINTER and _SIZE name in a launch's `extra` list; empty when there is none.
inline std::span<const std::uint8_t> packed_arguments(void** extra) {
    // HIP_LAUNCH_PARAM_BUFFER_POINTER 1, _BUFFER_SIZE 2, _END 3 (or 0)
    const std::uint8_t* buffer = nullptr;
    std::size_t size = 0;
    for (; extra != nullptr && (address_of(*extra) == 1 || address_of(*extra) == 2); extra += 2) {
        if (address_of(extra[0]) == 1) buffer = static_cast<const std::uint8_t*>(extra[1]);
        else size = *static_cast<std::size_t*>(extra[1]);
    }
    return {buffer, buffer == nullptr ? 0 : size};
}

/// hipMalloc and hipFree without what a stream capture forbids.
abi::Error allocate_now(void** pointer, std::size_t bytes, bool host_visible, unsigned flags);
abi::Error release_now(void* pointer);

/// Success, or the error that is noted for hipGetLastError.
inline abi::Error finish(abi::Error error) { return error == abi::error::success ? error : fail(error); }

}  // namespace hipscope
