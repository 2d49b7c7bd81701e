// Allocation, copies, fills and symbols. Device memory is host memory here: a copy is a copy.
#include <execinfo.h>

#include <algorithm>
#include <array>
#include <cstring>

#include "hip/api.hpp"

namespace {

using namespace hipscope;
using abi::CopyKind;
using abi::Error;

/// Return addresses of the program's calls that led here, for the sanitizers' reports; innermost first.
std::vector<std::uint64_t> callers() {
    std::array<void*, 12> frames{};
    const int count = backtrace(frames.data(), static_cast<int>(frames.size()));
    std::vector<std::uint64_t> result;
    for (int i = 1; i < count; ++i) result.push_back(address_of(frames[static_cast<std::size_t>(i)]));
    return result;
}

Error allocate(void** pointer, std::size_t bytes, bool host_visible, unsigned flags) {
    Call call;
    if (pointer == nullptr) return fail(abi::error::invalid_value);
    *pointer = nullptr;
    if (bytes == 0) return abi::error::success;
    const std::uint64_t address = call->memory.allocate(bytes, host_visible);
    if (address == 0) return fail(abi::error::out_of_memory);
    if (host_visible) call->host_flags[address] = flags;
    if (call->sanitizer) call->sanitizer->allocated(address, callers());
    *pointer = pointer_to(address);
    return abi::error::success;
}

Error release(void* pointer) {
    Call call;
    if (pointer == nullptr) return finish(call->pending());
    call->host_flags.erase(address_of(pointer));
    if (call->sanitizer) call->sanitizer->released(address_of(pointer), callers());
    if (!call->memory.release(address_of(pointer))) return fail(abi::error::invalid_value);
    return finish(call->pending());
}

/// True when a pointer into device memory does not have `bytes` valid bytes behind it.
bool overruns(Runtime& runtime, const void* pointer, std::size_t bytes) {
    const Allocation* block = runtime.memory.find(address_of(pointer));
    const std::uint64_t address = address_of(pointer);
    if (block == nullptr) return address >= Memory::base && address < Memory::base + Memory::reserved;
    return address + bytes > block->address + block->bytes;
}

Error copy(void* to, const void* from, std::size_t bytes, int kind) {
    Call call;
    if (bytes == 0) return finish(call->pending());
    if (to == nullptr || from == nullptr) return fail(abi::error::invalid_value);
    if (kind < 0 || kind > 4) return fail(abi::error::invalid_memcpy_direction);
    if (overruns(call.runtime, to, bytes) || overruns(call.runtime, from, bytes)) return fail(abi::error::invalid_value);
    if (call->pending() != abi::error::success) return fail(call->pending());
    std::memmove(to, from, bytes);
    call->touched(to, bytes);
    call->touched(from, bytes);
    return abi::error::success;
}

Error copy_2d(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width, std::size_t height, int kind) {
    if (width > to_pitch || width > from_pitch) return fail(abi::error::invalid_value);
    for (std::size_t row = 0; row < height; ++row)
        if (const Error e = copy(static_cast<char*>(to) + row * to_pitch, static_cast<const char*>(from) + row * from_pitch, width, kind);
            e != abi::error::success)
            return e;
    return abi::error::success;
}

Error copy_3d(const abi::Memcpy3DParms* p) {
    if (p == nullptr) return fail(abi::error::invalid_value);
    if (p->src_array != nullptr || p->dst_array != nullptr) {
        Call()->say_unsupported("hipMemcpy3D with arrays");
        return fail(abi::error::not_supported);
    }
    const auto at = [](const abi::PitchedPtr& base, const abi::Pos& pos, std::size_t z) {
        return static_cast<char*>(base.ptr) + pos.x + (pos.y + (pos.z + z) * base.ysize) * base.pitch;
    };
    for (std::size_t z = 0; z < p->extent.depth; ++z)
        if (const Error e = copy_2d(at(p->dst_ptr, p->dst_pos, z), p->dst_ptr.pitch, at(p->src_ptr, p->src_pos, z), p->src_ptr.pitch,
                                    p->extent.width, p->extent.height, p->kind);
            e != abi::error::success)
            return e;
    return abi::error::success;
}

template <class T>
Error fill(void* to, T value, std::size_t count) {
    Call call;
    if (count == 0) return finish(call->pending());
    if (to == nullptr || overruns(call.runtime, to, count * sizeof(T))) return fail(abi::error::invalid_value);
    if (call->pending() != abi::error::success) return fail(call->pending());
    if constexpr (sizeof(T) == 1) std::memset(to, static_cast<unsigned char>(value), count);
    else std::fill_n(static_cast<T*>(to), count, value);
    call->touched(to, count * sizeof(T));
    return abi::error::success;
}

Error fill_2d(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height) {
    for (std::size_t row = 0; row < height; ++row)
        if (const Error e = fill(static_cast<char*>(to) + row * pitch, static_cast<std::uint8_t>(value), width); e != abi::error::success)
            return e;
    return abi::error::success;
}

/// Device address and size of the variable whose host shadow is `symbol`.
Error symbol_range(const void* symbol, std::uint64_t& address, std::size_t& bytes) {
    Call call;
    const auto found = call->variables.find(symbol);
    if (found == call->variables.end()) return fail(abi::error::invalid_symbol);
    address = call->variable_address(found->second);
    bytes = found->second.bytes;
    return address == 0 ? fail(abi::error::invalid_symbol) : abi::error::success;
}

Error copy_to_symbol(const void* symbol, const void* from, std::size_t bytes, std::size_t offset, int kind) {
    std::uint64_t address = 0;
    std::size_t size = 0;
    if (const Error e = symbol_range(symbol, address, size); e != abi::error::success) return e;
    if (offset > size || bytes > size - offset) return fail(abi::error::invalid_value);
    return copy(pointer_to(address + offset), from, bytes, kind);
}

Error copy_from_symbol(void* to, const void* symbol, std::size_t bytes, std::size_t offset, int kind) {
    std::uint64_t address = 0;
    std::size_t size = 0;
    if (const Error e = symbol_range(symbol, address, size); e != abi::error::success) return e;
    if (offset > size || bytes > size - offset) return fail(abi::error::invalid_value);
    return copy(to, pointer_to(address + offset), bytes, kind);
}

constexpr std::size_t kPitch = 256;

}  // namespace

HIPSCOPE_API Error hipMalloc(void** p, std::size_t bytes) { return allocate(p, bytes, false, 0); }
HIPSCOPE_API Error hipExtMallocWithFlags(void** p, std::size_t bytes, unsigned) { return allocate(p, bytes, false, 0); }
HIPSCOPE_API Error hipMallocAsync(void** p, std::size_t bytes, void*) { return allocate(p, bytes, false, 0); }
HIPSCOPE_API Error hipMallocFromPoolAsync(void** p, std::size_t bytes, void*, void*) { return allocate(p, bytes, false, 0); }
HIPSCOPE_API Error hipMallocManaged(void** p, std::size_t bytes, unsigned) { return allocate(p, bytes, true, 0); }
HIPSCOPE_API Error hipHostMalloc(void** p, std::size_t bytes, unsigned flags) { return allocate(p, bytes, true, flags); }
HIPSCOPE_API Error hipHostAlloc(void** p, std::size_t bytes, unsigned flags) { return allocate(p, bytes, true, flags); }
HIPSCOPE_API Error hipExtHostAlloc(void** p, std::size_t bytes, unsigned flags) { return allocate(p, bytes, true, flags); }
HIPSCOPE_API Error hipMallocHost(void** p, std::size_t bytes) { return allocate(p, bytes, true, 0); }
HIPSCOPE_API Error hipMemAllocHost(void** p, std::size_t bytes) { return allocate(p, bytes, true, 0); }
HIPSCOPE_API Error hipFree(void* p) { return release(p); }
HIPSCOPE_API Error hipFreeAsync(void* p, void*) { return release(p); }
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

HIPSCOPE_API Error hipMemcpy(void* to, const void* from, std::size_t n, int kind) { return copy(to, from, n, kind); }
HIPSCOPE_API Error hipMemcpy_spt(void* to, const void* from, std::size_t n, int kind) { return copy(to, from, n, kind); }
HIPSCOPE_API Error hipMemcpyAsync(void* to, const void* from, std::size_t n, int kind, void*) { return copy(to, from, n, kind); }
HIPSCOPE_API Error hipMemcpyAsync_spt(void* to, const void* from, std::size_t n, int kind, void*) { return copy(to, from, n, kind); }
HIPSCOPE_API Error hipMemcpyWithStream(void* to, const void* from, std::size_t n, int kind, void*) { return copy(to, from, n, kind); }
HIPSCOPE_API Error hipMemcpyHtoD(void* to, void* from, std::size_t n) { return copy(to, from, n, 1); }
HIPSCOPE_API Error hipMemcpyDtoH(void* to, void* from, std::size_t n) { return copy(to, from, n, 2); }
HIPSCOPE_API Error hipMemcpyDtoD(void* to, void* from, std::size_t n) { return copy(to, from, n, 3); }
HIPSCOPE_API Error hipMemcpyHtoDAsync(void* to, void* from, std::size_t n, void*) { return copy(to, from, n, 1); }
HIPSCOPE_API Error hipMemcpyDtoHAsync(void* to, void* from, std::size_t n, void*) { return copy(to, from, n, 2); }
HIPSCOPE_API Error hipMemcpyDtoDAsync(void* to, void* from, std::size_t n, void*) { return copy(to, from, n, 3); }
HIPSCOPE_API Error hipMemcpyPeer(void* to, int, const void* from, int, std::size_t n) { return copy(to, from, n, 3); }
HIPSCOPE_API Error hipMemcpyPeerAsync(void* to, int, const void* from, int, std::size_t n, void*) { return copy(to, from, n, 3); }
HIPSCOPE_API Error hipMemcpy2D(void* to, std::size_t tp, const void* from, std::size_t fp, std::size_t w, std::size_t h, int kind) {
    return copy_2d(to, tp, from, fp, w, h, kind);
}
HIPSCOPE_API Error hipMemcpy2DAsync(void* to, std::size_t tp, const void* from, std::size_t fp, std::size_t w, std::size_t h, int kind, void*) {
    return copy_2d(to, tp, from, fp, w, h, kind);
}
HIPSCOPE_API Error hipMemcpy3D(const abi::Memcpy3DParms* p) { return copy_3d(p); }
HIPSCOPE_API Error hipMemcpy3DAsync(const abi::Memcpy3DParms* p, void*) { return copy_3d(p); }

HIPSCOPE_API Error hipMemset(void* to, int value, std::size_t n) { return fill(to, static_cast<std::uint8_t>(value), n); }
HIPSCOPE_API Error hipMemset_spt(void* to, int value, std::size_t n) { return hipMemset(to, value, n); }
HIPSCOPE_API Error hipMemsetAsync(void* to, int value, std::size_t n, void*) { return hipMemset(to, value, n); }
HIPSCOPE_API Error hipMemsetAsync_spt(void* to, int value, std::size_t n, void*) { return hipMemset(to, value, n); }
HIPSCOPE_API Error hipMemsetD8(void* to, unsigned char value, std::size_t n) { return fill(to, value, n); }
HIPSCOPE_API Error hipMemsetD8Async(void* to, unsigned char value, std::size_t n, void*) { return fill(to, value, n); }
HIPSCOPE_API Error hipMemsetD16(void* to, unsigned short value, std::size_t n) { return fill(to, value, n); }
HIPSCOPE_API Error hipMemsetD16Async(void* to, unsigned short value, std::size_t n, void*) { return fill(to, value, n); }
HIPSCOPE_API Error hipMemsetD32(void* to, int value, std::size_t n) { return fill(to, value, n); }
HIPSCOPE_API Error hipMemsetD32Async(void* to, int value, std::size_t n, void*) { return fill(to, value, n); }
HIPSCOPE_API Error hipMemset2D(void* to, std::size_t pitch, int value, std::size_t w, std::size_t h) { return fill_2d(to, pitch, value, w, h); }
HIPSCOPE_API Error hipMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t w, std::size_t h, void*) { return fill_2d(to, pitch, value, w, h); }

HIPSCOPE_API Error hipMemcpyToSymbol(const void* symbol, const void* from, std::size_t n, std::size_t offset, int kind) {
    return copy_to_symbol(symbol, from, n, offset, kind);
}
HIPSCOPE_API Error hipMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t n, std::size_t offset, int kind, void*) {
    return copy_to_symbol(symbol, from, n, offset, kind);
}
HIPSCOPE_API Error hipMemcpyFromSymbol(void* to, const void* symbol, std::size_t n, std::size_t offset, int kind) {
    return copy_from_symbol(to, symbol, n, offset, kind);
}
HIPSCOPE_API Error hipMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t n, std::size_t offset, int kind, void*) {
    return copy_from_symbol(to, symbol, n, offset, kind);
}
HIPSCOPE_API Error hipGetSymbolAddress(void** pointer, const void* symbol) {
    std::uint64_t address = 0;
    std::size_t bytes = 0;
    if (pointer == nullptr) return fail(abi::error::invalid_value);
    const Error e = symbol_range(symbol, address, bytes);
    if (e == abi::error::success) *pointer = pointer_to(address);
    return e;
}
HIPSCOPE_API Error hipGetSymbolSize(std::size_t* bytes, const void* symbol) {
    std::uint64_t address = 0;
    return bytes == nullptr ? fail(abi::error::invalid_value) : symbol_range(symbol, address, *bytes);
}

HIPSCOPE_API Error hipHostRegister(void* p, std::size_t bytes, unsigned) {
    Call call;
    if (p == nullptr || bytes == 0) return fail(abi::error::invalid_value);
    call->memory.register_host(address_of(p), bytes);
    return abi::error::success;
}
HIPSCOPE_API Error hipHostUnregister(void* p) {
    Call call;
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
    const std::uint64_t limit = std::min<std::uint64_t>(call->memory.limit(), Memory::reserved);
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
HIPSCOPE_API Error hipPointerGetAttributes(abi::PointerAttributes* out, const void* p) {
    Call call;
    const Allocation* block = call->memory.find(address_of(p));
    if (out == nullptr || block == nullptr) return fail(abi::error::invalid_value);
    *out = {};
    out->type = block->host_visible ? 1 : 2;  // hipMemoryTypeHost, hipMemoryTypeDevice
    out->device_pointer = const_cast<void*>(p);
    out->host_pointer = block->host_visible ? const_cast<void*>(p) : nullptr;
    return abi::error::success;
}
HIPSCOPE_API Error hipMemPrefetchAsync(const void*, std::size_t, int, void*) { return abi::error::success; }
HIPSCOPE_API Error hipMemAdvise(const void*, std::size_t, int, int) { return abi::error::success; }
