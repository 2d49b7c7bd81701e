// Attributes of streams, those that ROCm knows: how the host waits, which can be set, and the priority, which can be read.
#include "hip/api.hpp"

namespace {

using namespace hipscope;
using abi::Error;

constexpr int kSynchronizationPolicy = 3, kPriority = 8;  // hipLaunchAttributeID
constexpr int kFirstPolicy = 1, kLastPolicy = 4;          // hipSynchronizationPolicy

}  // namespace

HIPSCOPE_API Error hipStreamSetAttribute(Stream* handle, int attribute, const int* value) {
    Call call;
    if (value == nullptr) return fail(abi::error::invalid_value);
    Stream* stream = call->stream_of(handle);
    if (stream == nullptr) return fail(abi::error::invalid_handle);
    if (stream->capture) return fail(abi::error::stream_capture_unsupported);
    if (attribute != kSynchronizationPolicy || *value < kFirstPolicy || *value > kLastPolicy) return fail(abi::error::invalid_value);
    stream->synchronization_policy = *value;
    return abi::error::success;
}

HIPSCOPE_API Error hipStreamGetAttribute(Stream* handle, int attribute, int* value) {
    Call call;
    if (value == nullptr) return fail(abi::error::invalid_value);
    const Stream* stream = call->stream_of(handle);
    if (stream == nullptr) return fail(abi::error::invalid_handle);
    if (attribute != kSynchronizationPolicy && attribute != kPriority) return fail(abi::error::invalid_value);
    *value = attribute == kPriority ? stream->priority : stream->synchronization_policy;
    return abi::error::success;
}

HIPSCOPE_API Error hipStreamCopyAttributes(Stream* to, Stream* from) {
    Call call;
    Stream* target = call->stream_of(to);
    const Stream* source = call->stream_of(from);
    if (target == nullptr || source == nullptr) return fail(abi::error::invalid_handle);
    target->synchronization_policy = source->synchronization_policy;
    return abi::error::success;
}
