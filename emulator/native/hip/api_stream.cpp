// Streams, events, errors. Work runs eagerly in the order of the calls, so every stream is idle unless it waits for a value in
// memory (parked.hpp); streams and events carry modelled time (timeline.hpp).
#include <algorithm>
#include <memory>

#include "hip/api.hpp"

namespace {

using namespace hipscope;
using abi::Error;

constexpr int kHighestPriority = -1, kLowestPriority = 1;

Error create_stream(Stream** stream, unsigned flags, int priority) {
    Call call;
    if (stream == nullptr || flags > kStreamNonBlocking) return fail(abi::error::invalid_value);
    auto* made = new Stream;
    made->flags = flags;
    made->priority = std::clamp(priority, kHighestPriority, kLowestPriority);
    made->ready_ns = call->host_ns;
    call->streams.insert(*stream = made);
    return abi::error::success;
}

Error wait(Stream* handle) {
    Call call;
    const Stream* stream = call->stream_of(handle);
    if (stream == nullptr) return fail(abi::error::invalid_handle);
    if (stream->capture) {
        stream->capture->invalid = true;
        return fail(abi::error::stream_capture_unsupported);
    }
    call->wait_for(*stream);
    return finish(call->pending());
}

Error query(Stream* handle) {
    Call call;
    const Stream* stream = call->stream_of(handle);
    if (stream == nullptr) return fail(abi::error::invalid_handle);
    if (call->parked.holds(call.runtime, *stream)) return fail(abi::error::not_ready);
    return finish(stream->capture ? abi::error::stream_capture_unsupported : call->pending());
}

Error create_event(Event** event, unsigned flags) {
    Call call;
    const bool interprocess = (flags & kEventInterprocess) != 0;
    if (event == nullptr || (interprocess && (flags & kEventDisableTiming) == 0)) return fail(abi::error::invalid_value);
    auto made = std::make_unique<Event>();
    made->flags = flags;
    if (interprocess && !(made->shared = SharedEvent::create())) return fail(abi::error::out_of_memory);
    call->events.insert(*event = made.release());
    return abi::error::success;
}

Error record(Event* event, Stream* stream) {
    Call call;
    if (!call->events.contains(event)) return fail(abi::error::invalid_handle);
    if (const Error e = submit(call.runtime, stream, RecordWork{event}); e != abi::error::success) return fail(e);
    return finish(call->pending());
}

Error wait_event(Stream* stream, Event* event) {
    Call call;
    if (!call->events.contains(event)) return fail(abi::error::invalid_handle);
    return finish(submit(call.runtime, stream, WaitWork{event}));
}

/// Host functions run on the calling thread, as soon as they are enqueued: all earlier work has ended.
Error host_function(Stream* handle, HostWork work) {
    {
        Call call;
        Stream* stream = call->stream_of(handle);
        if (stream == nullptr) return fail(abi::error::invalid_handle);
        if (stream->capture || call->parked.blocks(call.runtime, *stream, work)) return finish(submit(call.runtime, handle, work));
        stream->ready_ns = call->start_of(*stream);
    }
    work.function(work.data);  // it may wait for another thread of the program
    return abi::error::success;
}

Error memory_operation(Stream* handle, bool wide, bool wait, void* pointer, std::uint64_t value, unsigned flags, std::uint64_t mask) {
    Call call;
    Stream* stream = call->stream_of(handle);
    if (stream == nullptr) return fail(abi::error::invalid_handle);
    if (stream->capture) return fail(abi::error::stream_capture_unsupported);
    const std::size_t bytes = wide ? 8 : 4;
    if (wait && flags > 3) return fail(abi::error::invalid_value);
    if (pointer == nullptr || address_of(pointer) % bytes != 0) return fail(abi::error::invalid_value);
    if (call->memory.room(address_of(pointer)) < bytes && !call->memory.valid(address_of(pointer), static_cast<std::uint32_t>(bytes)))
        return fail(abi::error::invalid_value);
    return finish(submit(call.runtime, handle, ValueWork{wait, pointer, bytes, value, mask, flags}));
}

/// A callback of a stream that waits for a value.
struct LateCallback {
    void (*function)(Stream*, Error, void*);
    Stream* stream;
    void* data;
};

struct ErrorText {
    Error code;
    const char *name, *text;
};

constexpr ErrorText kErrors[] = {
    {abi::error::success, "hipSuccess", "no error"},
    {abi::error::invalid_value, "hipErrorInvalidValue", "invalid argument"},
    {abi::error::out_of_memory, "hipErrorOutOfMemory", "out of memory"},
    {abi::error::not_initialized, "hipErrorNotInitialized", "initialization error"},
    {4, "hipErrorDeinitialized", "driver shutting down"},
    {5, "hipErrorProfilerDisabled", "profiler disabled while using external profiling tool"},
    {6, "hipErrorProfilerNotInitialized", "profiler is not initialized"},
    {7, "hipErrorProfilerAlreadyStarted", "profiler already started"},
    {8, "hipErrorProfilerAlreadyStopped", "profiler already stopped"},
    {abi::error::invalid_configuration, "hipErrorInvalidConfiguration", "invalid configuration argument"},
    {abi::error::invalid_pitch, "hipErrorInvalidPitchValue", "invalid pitch argument"},
    {abi::error::invalid_symbol, "hipErrorInvalidSymbol", "invalid device symbol"},
    {abi::error::invalid_device_pointer, "hipErrorInvalidDevicePointer", "invalid device pointer"},
    {abi::error::invalid_memcpy_direction, "hipErrorInvalidMemcpyDirection", "invalid copy direction for memcpy"},
    {35, "hipErrorInsufficientDriver", "driver version is insufficient for runtime version"},
    {abi::error::missing_configuration, "hipErrorMissingConfiguration", "__global__ function call is not configured"},
    {53, "hipErrorPriorLaunchFailure", "unspecified launch failure in prior launch"},
    {abi::error::invalid_device_function, "hipErrorInvalidDeviceFunction", "invalid device function"},
    {abi::error::no_device, "hipErrorNoDevice", "no ROCm-capable device is detected"},
    {abi::error::invalid_device, "hipErrorInvalidDevice", "invalid device ordinal"},
    {abi::error::invalid_image, "hipErrorInvalidImage", "device kernel image is invalid"},
    {abi::error::invalid_context, "hipErrorInvalidContext", "invalid device context"},
    {202, "hipErrorContextAlreadyCurrent", "context is already current context"},
    {205, "hipErrorMapFailed", "mapping of buffer object failed"},
    {206, "hipErrorUnmapFailed", "unmapping of buffer object failed"},
    {207, "hipErrorArrayIsMapped", "array is mapped"},
    {208, "hipErrorAlreadyMapped", "resource already mapped"},
    {210, "hipErrorAlreadyAcquired", "resource already acquired"},
    {211, "hipErrorNotMapped", "resource not mapped"},
    {212, "hipErrorNotMappedAsArray", "resource not mapped as array"},
    {213, "hipErrorNotMappedAsPointer", "resource not mapped as pointer"},
    {214, "hipErrorECCNotCorrectable", "uncorrectable ECC error encountered"},
    {215, "hipErrorUnsupportedLimit", "limit is not supported on this architecture"},
    {216, "hipErrorContextAlreadyInUse", "exclusive-thread device already in use by a different thread"},
    {217, "hipErrorPeerAccessUnsupported", "peer access is not supported between these two devices"},
    {218, "hipErrorInvalidKernelFile", "invalid kernel file"},
    {219, "hipErrorInvalidGraphicsContext", "invalid OpenGL or DirectX context"},
    {300, "hipErrorInvalidSource", "device kernel image is invalid"},
    {302, "hipErrorSharedObjectSymbolNotFound", "shared object symbol not found"},
    {303, "hipErrorSharedObjectInitFailed", "shared object initialization failed"},
    {304, "hipErrorOperatingSystem", "OS call failed or operation not supported on this OS"},
    {abi::error::no_binary_for_gpu, "hipErrorNoBinaryForGpu", "no kernel image is available for execution on the device"},
    {abi::error::file_not_found, "hipErrorFileNotFound", "file not found"},
    {abi::error::invalid_handle, "hipErrorInvalidHandle", "invalid resource handle"},
    {abi::error::not_found, "hipErrorNotFound", "named symbol not found"},
    {abi::error::not_ready, "hipErrorNotReady", "device not ready"},
    {abi::error::illegal_address, "hipErrorIllegalAddress", "an illegal memory access was encountered"},
    {abi::error::launch_out_of_resources, "hipErrorLaunchOutOfResources", "out of resources"},
    {702, "hipErrorLaunchTimeOut", "the launch timed out and was terminated"},
    {708, "hipErrorSetOnActiveProcess", "cannot set while device is active in this process"},
    {709, "hipErrorContextIsDestroyed", "context is destroyed"},
    {710, "hipErrorAssert", "device-side assert triggered"},
    {1052, "hipErrorRuntimeMemory", "runtime memory call returned error"},
    {1053, "hipErrorRuntimeOther", "runtime call other than memory returned error"},
    {1054, "hipErrorTbd", "HIP error to be defined"},
    {abi::error::peer_already_enabled, "hipErrorPeerAccessAlreadyEnabled", "peer access is already enabled"},
    {abi::error::peer_not_enabled, "hipErrorPeerAccessNotEnabled", "peer access has not been enabled"},
    {abi::error::host_already_registered, "hipErrorHostMemoryAlreadyRegistered", "part or all of the requested memory range is already mapped"},
    {abi::error::host_not_registered, "hipErrorHostMemoryNotRegistered", "pointer does not correspond to a registered memory region"},
    {abi::error::launch_failure, "hipErrorLaunchFailure", "unspecified launch failure"},
    {abi::error::cooperative_too_large, "hipErrorCooperativeLaunchTooLarge", "too many blocks in cooperative launch"},
    {abi::error::illegal_state, "hipErrorIllegalState", "the operation cannot be performed in the present state"},
    {abi::error::stream_capture_unsupported, "hipErrorStreamCaptureUnsupported", "operation not permitted when stream is capturing"},
    {abi::error::stream_capture_invalidated, "hipErrorStreamCaptureInvalidated", "operation failed due to a previous error during capture"},
    {abi::error::stream_capture_merge, "hipErrorStreamCaptureMerge", "operation would result in a merge of separate capture sequences"},
    {abi::error::stream_capture_unmatched, "hipErrorStreamCaptureUnmatched", "capture was not ended in the same stream as it began"},
    {abi::error::stream_capture_unjoined, "hipErrorStreamCaptureUnjoined", "capturing stream has unjoined work"},
    {abi::error::stream_capture_isolation, "hipErrorStreamCaptureIsolation", "dependency created on uncaptured work in another stream"},
    {abi::error::stream_capture_implicit, "hipErrorStreamCaptureImplicit", "operation would make the legacy stream depend on a capturing blocking stream"},
    {abi::error::captured_event, "hipErrorCapturedEvent", "operation not permitted on an event last recorded in a capturing stream"},
    {abi::error::stream_capture_wrong_thread, "hipErrorStreamCaptureWrongThread", "attempt to terminate a thread-local capture sequence from another thread"},
    {abi::error::graph_update_failure, "hipErrorGraphExecUpdateFailure", "the graph update was not performed because it included changes which violated constraints specific to instantiated graph update"},
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
    if (address_of(s) <= 2 || !call->streams.contains(s)) return fail(abi::error::invalid_handle);
    if (s->capture) {
        s->capture->invalid = true;
        s->capture->joined.erase(s);
        if (s->capture->origin == s) s->capture->origin = nullptr;
    }
    wait_while(call.runtime, [&] { return call->parked.holds(call.runtime, *s); });
    // What it still had to do in modelled time is waited for by the legacy stream, as if it were there.
    if ((s->flags & kStreamNonBlocking) == 0) call->legacy.ready_ns = std::max(call->legacy.ready_ns, s->ready_ns);
    call->streams.erase(s);
    delete s;
    return abi::error::success;
}
HIPSCOPE_API Error hipStreamSynchronize(Stream* s) { return wait(s); }
HIPSCOPE_API Error hipStreamSynchronize_spt(Stream* s) { return wait(per_thread(s)); }
HIPSCOPE_API Error hipStreamQuery(Stream* s) { return query(s); }
HIPSCOPE_API Error hipStreamQuery_spt(Stream* s) { return query(per_thread(s)); }
HIPSCOPE_API Error hipStreamWaitEvent(Stream* s, Event* event, unsigned) { return wait_event(s, event); }
HIPSCOPE_API Error hipStreamWaitEvent_spt(Stream* s, Event* event, unsigned) { return wait_event(per_thread(s), event); }
HIPSCOPE_API Error hipStreamGetFlags(Stream* handle, unsigned* flags) {
    Call call;
    const Stream* stream = call->stream_of(handle);
    if (flags == nullptr || stream == nullptr) return fail(abi::error::invalid_value);
    *flags = stream->flags;
    return abi::error::success;
}
HIPSCOPE_API Error hipStreamGetFlags_spt(Stream* s, unsigned* flags) { return hipStreamGetFlags(per_thread(s), flags); }
HIPSCOPE_API Error hipStreamGetPriority(Stream* handle, int* priority) {
    Call call;
    const Stream* stream = call->stream_of(handle);
    if (priority == nullptr || stream == nullptr) return fail(abi::error::invalid_value);
    *priority = stream->priority;
    return abi::error::success;
}
HIPSCOPE_API Error hipStreamGetPriority_spt(Stream* s, int* priority) { return hipStreamGetPriority(per_thread(s), priority); }
HIPSCOPE_API int hipGetStreamDeviceId(Stream*) { return 0; }
HIPSCOPE_API Error hipStreamGetDevice(Stream*, int* device) {
    if (device == nullptr) return fail(abi::error::invalid_value);
    *device = 0;
    return abi::error::success;
}
HIPSCOPE_API Error hipDeviceGetStreamPriorityRange(int* least, int* greatest) {
    if (least != nullptr) *least = kLowestPriority;
    if (greatest != nullptr) *greatest = kHighestPriority;
    return abi::error::success;
}
HIPSCOPE_API Error hipStreamAddCallback(Stream* s, void (*callback)(Stream*, Error, void*), void* data, unsigned flags) {
    if (callback == nullptr || flags != 0) return fail(abi::error::invalid_value);
    Error state = abi::error::success;
    {
        Call call;
        Stream* stream = call->stream_of(s);
        if (stream == nullptr) return fail(abi::error::invalid_handle);
        if (stream->capture) return fail(abi::error::stream_capture_unsupported);
        stream->ready_ns = call->start_of(*stream);
        state = call->pending();
        if (call->parked.holds(call.runtime, *stream)) {
            const auto run = [](void* late) {
                const std::unique_ptr<LateCallback> c(static_cast<LateCallback*>(late));
                c->function(c->stream, abi::error::success, c->data);
            };
            return finish(submit(call.runtime, s, HostWork{run, new LateCallback{callback, s, data}}));
        }
    }
    callback(s, state, data);
    return abi::error::success;
}
HIPSCOPE_API Error hipStreamAddCallback_spt(Stream* s, void (*callback)(Stream*, Error, void*), void* data, unsigned flags) {
    return hipStreamAddCallback(per_thread(s), callback, data, flags);
}
HIPSCOPE_API Error hipStreamWriteValue32(Stream* s, void* p, std::uint32_t value, unsigned flags) { return memory_operation(s, false, false, p, value, flags, 0); }
HIPSCOPE_API Error hipStreamWriteValue64(Stream* s, void* p, std::uint64_t value, unsigned flags) { return memory_operation(s, true, false, p, value, flags, 0); }
HIPSCOPE_API Error hipStreamWaitValue32(Stream* s, void* p, std::uint32_t value, unsigned flags, std::uint32_t mask) {
    return memory_operation(s, false, true, p, value, flags, mask);
}
HIPSCOPE_API Error hipStreamWaitValue64(Stream* s, void* p, std::uint64_t value, unsigned flags, std::uint64_t mask) {
    return memory_operation(s, true, true, p, value, flags, mask);
}
HIPSCOPE_API Error hipStreamBatchMemOp(Stream* s, unsigned count, const abi::StreamMemoryOperation* list, unsigned) {
    enum { wait_32 = 1, write_32, flush, wait_64, write_64, barrier };  // hipStreamBatchMemOpType
    if (count > 0 && list == nullptr) return fail(abi::error::invalid_value);
    for (unsigned i = 0; i < count; ++i) {
        const auto& o = list[i];
        if (o.type == flush || o.type == barrier) continue;  // everything before has ended
        if (o.type < wait_32 || o.type > barrier) return fail(abi::error::invalid_value);
        const bool wait = o.type == wait_32 || o.type == wait_64;
        const Error e = memory_operation(s, o.type == wait_64 || o.type == write_64, wait, o.address, o.value, o.flags, ~0ULL);
        if (e != abi::error::success) return e;
    }
    return abi::error::success;
}
/// Memory can be used from all streams anyway.
HIPSCOPE_API Error hipStreamAttachMemAsync(Stream* s, void*, std::size_t, unsigned) {
    return Call()->stream_of(s) == nullptr ? fail(abi::error::invalid_handle) : abi::error::success;
}
HIPSCOPE_API Error hipStreamGetId(Stream* handle, unsigned long long* id) {
    Call call;
    const Stream* stream = call->stream_of(handle);
    if (stream == nullptr) return fail(abi::error::invalid_handle);
    if (id == nullptr) return fail(abi::error::invalid_value);
    *id = address_of(stream);
    return abi::error::success;
}
/// Every CU of the device: streams are not bound to some.
HIPSCOPE_API Error hipExtStreamGetCUMask(Stream* s, std::uint32_t words, std::uint32_t* mask) {
    Call call;
    if (call->stream_of(s) == nullptr) return fail(abi::error::invalid_handle);
    const auto units = static_cast<std::uint32_t>(call->number("compute_units", 304));
    if (mask == nullptr || words * 32 < units) return fail(abi::error::invalid_value);
    for (std::uint32_t i = 0; i < words; ++i) {
        const std::uint32_t left = units > i * 32 ? units - i * 32 : 0;
        mask[i] = left >= 32 ? ~0U : (1U << left) - 1;
    }
    return abi::error::success;
}
HIPSCOPE_API Error hipLaunchHostFunc(Stream* s, void (*function)(void*), void* data) {
    if (function == nullptr) return fail(abi::error::invalid_value);
    return host_function(s, {function, data});
}
HIPSCOPE_API Error hipLaunchHostFunc_spt(Stream* s, void (*function)(void*), void* data) {
    return hipLaunchHostFunc(per_thread(s), function, data);
}

HIPSCOPE_API Error hipEventCreate(Event** event) { return create_event(event, 0); }
HIPSCOPE_API Error hipEventCreateWithFlags(Event** event, unsigned flags) { return create_event(event, flags); }
HIPSCOPE_API Error hipEventDestroy(Event* event) {
    Call call;
    if (call->events.erase(event) == 0) return fail(abi::error::invalid_handle);
    call->parked.forget(*event);
    delete event;
    return abi::error::success;
}
HIPSCOPE_API Error hipEventRecord(Event* event, Stream* s) { return record(event, s); }
HIPSCOPE_API Error hipEventRecord_spt(Event* event, Stream* s) { return record(event, per_thread(s)); }
HIPSCOPE_API Error hipEventRecordWithFlags(Event* event, Stream* s, unsigned) { return record(event, s); }
HIPSCOPE_API Error hipEventSynchronize(Event* event) {
    Call call;
    if (!call->events.contains(event)) return fail(abi::error::invalid_handle);
    if (event->capture && !event->capture->invalid) return fail(abi::error::captured_event);
    wait_while(call.runtime, [&] { return call->parked.holds(*event); });
    if (event->recorded) call->host_ns = std::max(call->host_ns, event->time_ns);
    return finish(call->pending());
}
HIPSCOPE_API Error hipEventQuery(Event* event) {
    Call call;
    if (!call->events.contains(event)) return fail(abi::error::invalid_handle);
    if (call->parked.holds(*event)) return fail(abi::error::not_ready);
    return finish(event->capture && !event->capture->invalid ? abi::error::captured_event : call->pending());
}
HIPSCOPE_API Error hipEventElapsedTime(float* ms, Event* start, Event* stop) {
    Call call;
    if (ms == nullptr) return fail(abi::error::invalid_value);
    for (const Event* event : {start, stop})
        if (!call->events.contains(const_cast<Event*>(event)) || !event->recorded || (event->flags & kEventDisableTiming) != 0)
            return fail(abi::error::invalid_handle);
    if (call->parked.holds(*start) || call->parked.holds(*stop)) return fail(abi::error::not_ready);
    const double scale = static_cast<double>(call->settings.clock_percent) * 1e-2;
    *ms = static_cast<float>((stop->time_ns - start->time_ns) * 1e-6 * scale);
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
