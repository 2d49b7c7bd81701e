// Allocation of memory on the device and the host.
#include <algorithm>
#include <array>
#include <cstring>

#include "hip/api.hpp"

namespace {

using namespace hipscope;
using abi::Error;

Error allocate(void** pointer, std::size_t bytes, bool host_visible, unsigned flags) {
    Call call;
    if (call->spoils_capture()) return fail(abi::error::stream_capture_unsupported);
    return allocate_now(pointer, bytes, host_visible, flags);
}

Error release(void* pointer) {
    Call call;
    if (call->spoils_capture()) return fail(abi::error::stream_capture_unsupported);
    return release_now(pointer);
}

constexpr std::size_t kPitch = 256;

}  // namespace

Error hipscope::allocate_now(void** pointer, std::size_t bytes, bool host_visible, unsigned flags) {
    Call call;
    if (pointer == nullptr) return fail(abi::error::invalid_value);
    *pointer = nullptr;
    if (bytes == 0) return abi::error::success;
    const std::uint64_t address = call->memory.allocate(bytes, host_visible);
    if (address == 0) {
        call->no_space(bytes);
        return fail(abi::error::out_of_memory);
    }
    if (host_visible) {
        constexpr unsigned non_coherent = 0x80000000U;  // hipHostMallocNonCoherent; coherent unless it is said
        call->host_flags[address] = flags;
        call->set_kind(address, (flags & non_coherent) != 0 ? MemoryKind::host_noncoherent : MemoryKind::host);
    }
    call->appeared(address, host_visible);
    *pointer = pointer_to(address);
    return abi::error::success;
}

Error hipscope::release_now(void* pointer) {
    Call call;
    if (pointer == nullptr) return finish(call->pending());
    wait_while(call.runtime, [&] { return !call->parked.empty(); });  // parked work may use it
    call->disappears(address_of(pointer));
    if (!call->release(address_of(pointer))) return fail(abi::error::invalid_value);
    return finish(call->pending());
}

HIPSCOPE_API Error hipMalloc(void** p, std::size_t bytes) { return allocate(p, bytes, false, 0); }
HIPSCOPE_API Error hipExtMallocWithFlags(void** p, std::size_t bytes, unsigned flags) {
    constexpr unsigned fine_grained = 1, uncached = 3;  // hipDeviceMallocFinegrained, hipDeviceMallocUncached
    Call call;
    const Error error = allocate(p, bytes, false, 0);
    if (error == abi::error::success && *p != nullptr && (flags == fine_grained || flags == uncached))
        call->set_kind(address_of(*p), flags == fine_grained ? MemoryKind::fine_grained : MemoryKind::uncached);
    return error;
}
HIPSCOPE_API Error hipMallocManaged(void** p, std::size_t bytes, unsigned) {
    Call call;
    const Error error = allocate(p, bytes, true, 0);
    if (error != abi::error::success || *p == nullptr) return error;
    call->managed.insert(address_of(*p));
    call->set_kind(address_of(*p), MemoryKind::managed);
    return error;
}
HIPSCOPE_API Error hipHostMalloc(void** p, std::size_t bytes, unsigned flags) { return allocate(p, bytes, true, flags); }
HIPSCOPE_API Error hipHostAlloc(void** p, std::size_t bytes, unsigned flags) { return allocate(p, bytes, true, flags); }
HIPSCOPE_API Error hipExtHostAlloc(void** p, std::size_t bytes, unsigned flags) { return allocate(p, bytes, true, flags); }
HIPSCOPE_API Error hipMallocHost(void** p, std::size_t bytes) { return allocate(p, bytes, true, 0); }
HIPSCOPE_API Error hipMemAllocHost(void** p, std::size_t bytes) { return allocate(p, bytes, true, 0); }
HIPSCOPE_API Error hipFree(void* p) { return release(p); }
HIPSCOPE_API Error hipHostFree(void* p) { return release(p); }
HIPSCOPE_API Error hipFreeHost(void* p) { return release(p); }
HIPSCOPE_API Error hipMallocPitch(void** p, std::size_t* pitch, std::size_t width, std::size_t height) {
    if (pitch == nullptr) return fail(abi::error::invalid_value);
    *pitch = (width + kPitch - 1) / kPitch * kPitch;
    return allocate(p, *pitch * height, false, 0);
}
HIPSCOPE_API Error hipMemAllocPitch(void** p, std::size_t* pitch, std::size_t width, std::size_t height, unsigned) {
    return hipMallocPitch(p, pitch, width, height);
}
HIPSCOPE_API Error hipMalloc3D(abi::PitchedPtr* p, abi::Extent extent) {
    if (p == nullptr) return fail(abi::error::invalid_value);
    p->pitch = (extent.width + kPitch - 1) / kPitch * kPitch;
    p->xsize = extent.width;
    p->ysize = extent.height;
    return allocate(&p->ptr, p->pitch * extent.height * extent.depth, false, 0);
}

HIPSCOPE_API Error hipHostRegister(void* p, std::size_t bytes, unsigned) {
    Call call;
    if (p == nullptr || bytes == 0) return fail(abi::error::invalid_value);
    if (call->memory.valid(address_of(p), 1)) return fail(abi::error::host_already_registered);
    call->memory.register_host(address_of(p), bytes);
    call->kinds[address_of(p)] = {address_of(p), address_of(p) + bytes, MemoryKind::host};
    return abi::error::success;
}
HIPSCOPE_API Error hipHostUnregister(void* p) {
    Call call;
    call->kinds.erase(address_of(p));
    return call->memory.forget_host(address_of(p)) ? abi::error::success : fail(abi::error::host_not_registered);
}
HIPSCOPE_API Error hipHostGetDevicePointer(void** device, void* host, unsigned) {
    if (device == nullptr || host == nullptr) return fail(abi::error::invalid_value);
    *device = host;
    return abi::error::success;
}
HIPSCOPE_API Error hipHostGetFlags(unsigned* flags, void* host) {
    Call call;
    const auto found = call->host_flags.find(address_of(host));
    if (flags == nullptr || found == call->host_flags.end()) return fail(abi::error::invalid_value);
    *flags = found->second;
    return abi::error::success;
}
HIPSCOPE_API Error hipMemGetInfo(std::size_t* free, std::size_t* total) {
    Call call;
    const std::uint64_t limit = call->memory.limit();
    if (free != nullptr) *free = limit - std::min(limit, call->memory.in_use());
    if (total != nullptr) *total = limit;
    return abi::error::success;
}
HIPSCOPE_API Error hipMemGetAddressRange(void** base, std::size_t* bytes, void* p) {
    Call call;
    const Allocation* block = call->memory.find(address_of(p));
    if (block == nullptr) return fail(abi::error::invalid_value);
    if (base != nullptr) *base = pointer_to(block->address);
    if (bytes != nullptr) *bytes = block->bytes;
    return abi::error::success;
}
HIPSCOPE_API Error hipMemPtrGetInfo(void* p, std::size_t* bytes) { return hipMemGetAddressRange(nullptr, bytes, p); }
