// Memory pools and stream-ordered allocation. In a stream that is being captured these become nodes of the graph.
#include "hip/api.hpp"

namespace {

using namespace hipscope;
using abi::Error;

Error of_device(int device) { return device == 0 ? abi::error::success : fail(abi::error::invalid_device); }

Error allocate(void** pointer, std::size_t bytes, MemoryPool* pool, Stream* handle) {
    Call call;
    Stream* stream = call->stream_of(handle);
    if (pointer == nullptr) return fail(abi::error::invalid_value);
    if (stream == nullptr) return fail(abi::error::invalid_handle);
    if (pool != nullptr && !call->pools.knows(pool)) return fail(abi::error::invalid_value);
    if (stream->capture) {
        auto memory = GraphMemory::make(call.runtime, bytes);
        if (memory == nullptr) return fail(abi::error::out_of_memory);
        *pointer = pointer_to(memory->address);
        return finish(submit(call.runtime, handle, AllocateWork{std::move(memory)}));
    }
    const Error error = allocate_now(pointer, bytes, false, 0);
    if (error == abi::error::success && *pointer != nullptr) call->pools.took(pool == nullptr ? *call->pools.current : *pool, address_of(*pointer), bytes);
    return error;
}

/// Attributes of pools are int up to `internal`, 64 bits wide beyond.
bool is_switch(int attribute) { return attribute >= MemoryPool::follow_events && attribute <= MemoryPool::internal; }

}  // namespace

HIPSCOPE_API Error hipMallocAsync(void** p, std::size_t bytes, Stream* s) { return allocate(p, bytes, nullptr, s); }
HIPSCOPE_API Error hipMallocFromPoolAsync(void** p, std::size_t bytes, MemoryPool* pool, Stream* s) {
    return pool == nullptr ? fail(abi::error::invalid_value) : allocate(p, bytes, pool, s);
}
HIPSCOPE_API Error hipFreeAsync(void* p, Stream* handle) {
    Call call;
    const Stream* stream = call->stream_of(handle);
    if (stream == nullptr) return fail(abi::error::invalid_handle);
    if (stream->capture || !call->parked.empty()) return finish(submit(call.runtime, handle, FreeWork{p}));
    return p == nullptr ? fail(abi::error::invalid_value) : release_now(p);
}

HIPSCOPE_API Error hipDeviceGetDefaultMemPool(MemoryPool** pool, int device) {
    if (pool == nullptr) return fail(abi::error::invalid_value);
    *pool = &Call()->pools.standard;
    return of_device(device);
}
HIPSCOPE_API Error hipDeviceGetMemPool(MemoryPool** pool, int device) {
    if (pool == nullptr) return fail(abi::error::invalid_value);
    *pool = Call()->pools.current;
    return of_device(device);
}
HIPSCOPE_API Error hipDeviceSetMemPool(int device, MemoryPool* pool) {
    Call call;
    if (call->spoils_capture()) return fail(abi::error::stream_capture_unsupported);
    if (!call->pools.knows(pool)) return fail(abi::error::invalid_value);
    call->pools.current = pool;
    return of_device(device);
}
HIPSCOPE_API Error hipMemPoolCreate(MemoryPool** pool, const abi::MemPoolProps* props) {
    Call call;
    if (call->spoils_capture()) return fail(abi::error::stream_capture_unsupported);
    if (pool == nullptr || props == nullptr) return fail(abi::error::invalid_value);
    if (props->location_type != abi::kLocationDevice || props->location_id != 0) return fail(abi::error::invalid_value);
    *pool = call->pools.create();
    return abi::error::success;
}
HIPSCOPE_API Error hipMemPoolDestroy(MemoryPool* pool) {
    Call call;
    if (call->spoils_capture()) return fail(abi::error::stream_capture_unsupported);
    return call->pools.destroy(pool) ? abi::error::success : fail(abi::error::invalid_value);
}
HIPSCOPE_API Error hipMemPoolTrimTo(MemoryPool* pool, std::size_t) {
    return Call()->pools.knows(pool) ? abi::error::success : fail(abi::error::invalid_value);
}
HIPSCOPE_API Error hipMemPoolGetAttribute(MemoryPool* pool, int attribute, void* value) {
    Call call;
    if (!call->pools.knows(pool) || value == nullptr || attribute < MemoryPool::follow_events || attribute > MemoryPool::used_high)
        return fail(abi::error::invalid_value);
    const std::uint64_t held = pool->attributes[static_cast<std::size_t>(attribute)];
    if (is_switch(attribute)) *static_cast<int*>(value) = static_cast<int>(held);
    else *static_cast<std::uint64_t*>(value) = held;
    return abi::error::success;
}
/// Current amounts cannot be set, high-water marks can be set to 0 only: they start again at what is in use.
HIPSCOPE_API Error hipMemPoolSetAttribute(MemoryPool* pool, int attribute, void* value) {
    Call call;
    if (!call->pools.knows(pool) || value == nullptr) return fail(abi::error::invalid_value);
    auto& a = pool->attributes;
    if (is_switch(attribute)) a[static_cast<std::size_t>(attribute)] = static_cast<std::uint64_t>(*static_cast<int*>(value));
    else if (attribute == MemoryPool::release_threshold) a[MemoryPool::release_threshold] = *static_cast<std::uint64_t*>(value);
    else if ((attribute == MemoryPool::used_high || attribute == MemoryPool::reserved_high) && *static_cast<std::uint64_t*>(value) == 0)
        a[static_cast<std::size_t>(attribute)] = a[MemoryPool::used];
    else return fail(abi::error::invalid_value);
    return abi::error::success;
}
/// The one device always has access; it cannot be taken away.
HIPSCOPE_API Error hipMemPoolSetAccess(MemoryPool* pool, const abi::MemAccessDesc* list, std::size_t count) {
    if (!Call()->pools.knows(pool) || (count > 0 && list == nullptr)) return fail(abi::error::invalid_value);
    for (std::size_t i = 0; i < count; ++i)
        if (list[i].location_type != abi::kLocationDevice || list[i].location_id != 0 || list[i].flags != abi::kAccessReadWrite)
            return fail(abi::error::invalid_value);
    return abi::error::success;
}
HIPSCOPE_API Error hipMemPoolGetAccess(int* flags, MemoryPool* pool, const abi::MemLocation* location) {
    if (!Call()->pools.knows(pool) || flags == nullptr || location == nullptr) return fail(abi::error::invalid_value);
    if (location->type != abi::kLocationDevice || location->id != 0) return fail(abi::error::invalid_value);
    *flags = abi::kAccessReadWrite;
    return abi::error::success;
}
