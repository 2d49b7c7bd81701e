// Streams, events, errors. Work runs eagerly in the order of the calls, so every stream is always idle; event times
// are the device's modelled clock.
#include "hip/api.hpp"

namespace {

using namespace hipscope;
using abi::Error;

/// What recording an event adds to the modelled clock when the device file does not say.
constexpr double kEventNs = 0;

Error create_stream(Stream** stream, unsigned flags, int priority) {
    Call call;
    if (stream == nullptr) return fail(abi::error::invalid_value);
    *stream = new Stream{flags, priority};
    call->streams.insert(*stream);
    return abi::error::success;
}

/// Streams that are no objects: null, legacy (1) and per-thread (2).
bool known(Runtime& runtime, Stream* stream) { return address_of(stream) <= 2 || runtime.streams.contains(stream); }

Error wait(Stream* stream) {
    Call call;
    if (!known(call.runtime, stream)) return fail(abi::error::invalid_handle);
    return finish(call->pending());
}

Error create_event(Event** event) {
    Call call;
    if (event == nullptr) return fail(abi::error::invalid_value);
    *event = new Event;
    call->events.insert(*event);
    return abi::error::success;
}

struct ErrorText {
    Error code;
    const char *name, *text;
};

constexpr ErrorText kErrors[] = {
    {abi::error::success, "hipSuccess", "no error"},
    {abi::error::invalid_value, "hipErrorInvalidValue", "invalid argument"},
    {abi::error::out_of_memory, "hipErrorOutOfMemory", "out of memory"},
    {abi::error::not_initialized, "hipErrorNotInitialized", "initialization error"},
    {abi::error::invalid_configuration, "hipErrorInvalidConfiguration", "invalid configuration argument"},
    {abi::error::invalid_symbol, "hipErrorInvalidSymbol", "invalid device symbol"},
    {abi::error::invalid_device_pointer, "hipErrorInvalidDevicePointer", "invalid device pointer"},
    {abi::error::invalid_memcpy_direction, "hipErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {abi::error::invalid_device_function, "hipErrorInvalidDeviceFunction", "invalid device function"},
    {abi::error::no_device, "hipErrorNoDevice", "no ROCm-capable device is detected"},
    {abi::error::invalid_device, "hipErrorInvalidDevice", "invalid device ordinal"},
    {abi::error::invalid_image, "hipErrorInvalidImage", "device kernel image is invalid"},
    {abi::error::invalid_context, "hipErrorInvalidContext", "invalid device context"},
    {abi::error::no_binary_for_gpu, "hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"},
    {abi::error::file_not_found, "hipErrorFileNotFound", "file not found"},
    {abi::error::invalid_handle, "hipErrorInvalidHandle", "invalid resource handle"},
    {abi::error::not_found, "hipErrorNotFound", "named symbol not found"},
    {abi::error::not_ready, "hipErrorNotReady", "device not ready"},
    {abi::error::illegal_address, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
    {abi::error::launch_out_of_resources, "hipErrorLaunchOutOfResources", "out of resources"},
    {abi::error::peer_already_enabled, "hipErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {abi::error::peer_not_enabled, "hipErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {abi::error::host_already_registered, "hipErrorHostMemoryAlreadyRegistered", "part or all of the requested memory range is already mapped"},
    {abi::error::host_not_registered, "hipErrorHostMemoryNotRegistered", "pointer does not correspond to a registered memory region"},
    {abi::error::launch_failure, "hipErrorLaunchFailure", "unspecified launch failure"},
    {abi::error::not_supported, "hipErrorNotSupported", "operation not supported"},
    {abi::error::unknown, "hipErrorUnknown", "unknown error"},
};

const ErrorText& text_of(Error code) {
    for (const ErrorText& row : kErrors)
        if (row.code == code) return row;
    return kErrors[std::size(kErrors) - 1];
}

}  // namespace

HIPSCOPE_API Error hipStreamCreate(Stream** s) { return create_stream(s, 0, 0); }
HIPSCOPE_API Error hipStreamCreateWithFlags(Stream** s, unsigned flags) { return create_stream(s, flags, 0); }
HIPSCOPE_API Error hipStreamCreateWithPriority(Stream** s, unsigned flags, int priority) { return create_stream(s, flags, priority); }
HIPSCOPE_API Error hipExtStreamCreateWithCUMask(Stream** s, std::uint32_t, const std::uint32_t*) { return create_stream(s, 0, 0); }
HIPSCOPE_API Error hipStreamDestroy(Stream* s) {
    Call call;
    if (call->streams.erase(s) == 0) return fail(abi::error::invalid_handle);
    delete s;
    return abi::error::success;
}
HIPSCOPE_API Error hipStreamSynchronize(Stream* s) { return wait(s); }
HIPSCOPE_API Error hipStreamSynchronize_spt(Stream* s) { return wait(s); }
HIPSCOPE_API Error hipStreamQuery(Stream* s) { return wait(s); }
HIPSCOPE_API Error hipStreamQuery_spt(Stream* s) { return wait(s); }
HIPSCOPE_API Error hipStreamWaitEvent(Stream*, Event*, unsigned) { return abi::error::success; }
HIPSCOPE_API Error hipStreamWaitEvent_spt(Stream*, Event*, unsigned) { return abi::error::success; }
HIPSCOPE_API Error hipStreamGetFlags(Stream* s, unsigned* flags) {
    Call call;
    if (flags == nullptr || !known(call.runtime, s)) return fail(abi::error::invalid_value);
    *flags = address_of(s) <= 2 ? 0 : s->flags;
    return abi::error::success;
}
HIPSCOPE_API Error hipStreamGetPriority(Stream* s, int* priority) {
    Call call;
    if (priority == nullptr || !known(call.runtime, s)) return fail(abi::error::invalid_value);
    *priority = address_of(s) <= 2 ? 0 : s->priority;
    return abi::error::success;
}
HIPSCOPE_API int hipGetStreamDeviceId(Stream*) { return 0; }
HIPSCOPE_API Error hipStreamGetDevice(Stream*, int* device) {
    if (device == nullptr) return fail(abi::error::invalid_value);
    *device = 0;
    return abi::error::success;
}
HIPSCOPE_API Error hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
    if (least != nullptr) *least = 1;
    if (greatest != nullptr) *greatest = -1;
    return abi::error::success;
}
HIPSCOPE_API Error hipStreamAddCallback(Stream* s, void (*callback)(Stream*, Error, void*), void* data, unsigned) {
    if (callback == nullptr) return fail(abi::error::invalid_value);
    callback(s, Call()->pending(), data);
    return abi::error::success;
}
HIPSCOPE_API Error hipLaunchHostFunc(Stream*, void (*function)(void*), void* data) {
    if (function == nullptr) return fail(abi::error::invalid_value);
    function(data);
    return abi::error::success;
}
HIPSCOPE_API Error hipStreamIsCapturing(Stream*, int* status) {
    if (status == nullptr) return fail(abi::error::invalid_value);
    *status = 0;
    return abi::error::success;
}

HIPSCOPE_API Error hipEventCreate(Event** event) { return create_event(event); }
HIPSCOPE_API Error hipEventCreateWithFlags(Event** event, unsigned) { return create_event(event); }
HIPSCOPE_API Error hipEventDestroy(Event* event) {
    Call call;
    if (call->events.erase(event) == 0) return fail(abi::error::invalid_handle);
    delete event;
    return abi::error::success;
}
HIPSCOPE_API Error hipEventRecord(Event* event, Stream*) {
    Call call;
    if (!call->events.contains(event)) return fail(abi::error::invalid_handle);
    *event = {call->now_ns, true};
    call->now_ns += call->number("event_ns", kEventNs);  // the next kernel starts that much later
    return finish(call->pending());
}
HIPSCOPE_API Error hipEventRecord_spt(Event* event, Stream* s) { return hipEventRecord(event, s); }
HIPSCOPE_API Error hipEventSynchronize(Event* event) {
    Call call;
    if (!call->events.contains(event)) return fail(abi::error::invalid_handle);
    return finish(call->pending());
}
HIPSCOPE_API Error hipEventQuery(Event* event) { return hipEventSynchronize(event); }
HIPSCOPE_API Error hipEventElapsedTime(float* ms, Event* start, Event* stop) {
    Call call;
    if (ms == nullptr) return fail(abi::error::invalid_value);
    if (!call->events.contains(start) || !call->events.contains(stop) || !start->recorded || !stop->recorded)
        return fail(abi::error::invalid_handle);
    *ms = static_cast<float>((stop->time_ns - start->time_ns) * 1e-6);
    return abi::error::success;
}

HIPSCOPE_API Error hipGetLastError() {
    const Error error = last_error();
    last_error() = Call()->pending();  // a fault stays until the device is reset
    return error;
}
HIPSCOPE_API Error hipGetLastError_spt() { return hipGetLastError(); }
HIPSCOPE_API Error hipExtGetLastError() { return hipGetLastError(); }
HIPSCOPE_API Error hipPeekAtLastError() { return last_error(); }
HIPSCOPE_API Error hipPeekAtLastError_spt() { return last_error(); }
HIPSCOPE_API const char* hipGetErrorName(Error e) { return text_of(e).name; }
HIPSCOPE_API const char* hipGetErrorString(Error e) { return text_of(e).text; }
HIPSCOPE_API Error hipDrvGetErrorName(Error e, const char** text) {
    *text = text_of(e).name;
    return abi::error::success;
}
HIPSCOPE_API Error hipDrvGetErrorString(Error e, const char** text) {
    *text = text_of(e).text;
    return abi::error::success;
}
