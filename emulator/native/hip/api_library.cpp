// What the stand-ins for ROCm's libraries (emulator/native/stand_ins) ask of the runtime. Not part of HIP.
#include <algorithm>
#include <memory>

#include "hip/api.hpp"

namespace {

using namespace hipscope;
using abi::Error;

/// A call that waits in its stream. One that was captured may run again with every launch of its graph, so it is kept.
struct LibraryCall {
    std::string name;
    void (*work)(void*);
    void* data;
    void (*drop)(void*);
    bool once;
};

void run_call(void* pointer) {
    auto* const call = static_cast<LibraryCall*>(pointer);
    Runtime::get().library_called(call->name);
    call->work(call->data);
    if (!call->once) return;
    if (call->drop != nullptr) call->drop(call->data);
    delete call;  // NOLINT(cppcoreguidelines-owning-memory): a stream owns its work
}

constexpr int kFine = 0, kNoDeviceMemory = 1, kTooShort = 2;

int look_at(const Runtime& runtime, const char* start, std::size_t bytes) {
    constexpr std::size_t most = 1U << 30U;
    for (std::size_t at = 0; at < bytes; at += most) {
        const std::size_t part = std::min(most, bytes - at);
        if (!runtime.memory.valid_range(address_of(start + at), static_cast<std::uint32_t>(part)))
            return runtime.memory.valid(address_of(start), 1) ? kTooShort : kNoDeviceMemory;
    }
    return kFine;
}

}  // namespace

/// Put a call of the library function `name` into a stream: `work(data)` computes it on the host when its turn has come, then
/// `drop(data)` ends the data, unless the call was captured for a graph.
HIPSCOPE_API Error hipscopeLibraryCall(const char* name, Stream* stream, void (*work)(void*), void* data, void (*drop)(void*)) {
    Call call;
    Stream* target = call->stream_of(stream);
    if (target == nullptr) return fail(abi::error::invalid_handle);
    if (call->pending() != abi::error::success) return fail(call->pending());
    auto* const waiting = new LibraryCall{name, work, data, drop, target->capture == nullptr};  // NOLINT: freed by run_call
    return finish(submit(call.runtime, stream, HostWork{run_call, waiting}));
}

/// Count a library call that computes nothing in a stream.
HIPSCOPE_API void hipscopeLibraryCalled(const char* name) { Call()->library_called(name); }

/// `rows` rows of `width` bytes, `pitch` bytes apart, that a library call reads, or has `written`. 0 when kernels could do
/// that, 1 when `start` is no memory of the device, 2 when its block ends before.
HIPSCOPE_API int hipscopeLibraryMemory(const void* start, std::size_t pitch, std::size_t width, std::size_t rows, int written) {
    if (width == 0 || rows == 0) return kFine;
    Call call;
    const auto* const first = static_cast<const char*>(start);
    const std::size_t span = (rows - 1) * pitch + width;
    if (const int found = look_at(call.runtime, first, span); found != kFine) return found;
    call->touched(start, span, written != 0);
    if (written != 0 && call->sanitizer)
        for (std::size_t row = 0; row < rows; ++row) call->sanitizer->filled(first + row * pitch, width);
    return kFine;
}
