// What is known of pointers and ranges of memory, and advice about them.
#include <algorithm>
#include <cstring>
#include <optional>

#include "hip/api.hpp"
#include "hip/version.hpp"

namespace {

using namespace hipscope;
using abi::Error;

constexpr Error kOk = abi::error::success, kBad = abi::error::invalid_value;
constexpr int kNowhere = -2;  // hipInvalidDeviceId

/// hipMemoryAdvise and the result of hipMemRangeGetAttribute for it; kept for the start of each block.
struct Advice {
    int read_mostly = 0, preferred = kNowhere, accessed_by = kNowhere, prefetched = kNowhere, coarse = 0;
};

/// Guarded by the lock of a Call. Blocks come and go; advice for one that is gone is dropped when it is looked at.
std::map<std::uint64_t, std::pair<std::uint32_t, Advice>>& advice() {
    static auto* const all = new std::map<std::uint64_t, std::pair<std::uint32_t, Advice>>;  // NOLINT: as long as the process
    return *all;
}

Advice* advice_of(Runtime& runtime, const void* pointer) {
    const Allocation* block = runtime.memory.find(address_of(pointer));
    if (block == nullptr) return nullptr;
    auto& [id, kept] = advice()[block->address];
    if (id != block->id + 1) kept = {};
    id = block->id + 1;
    return &kept;
}

/// Managed memory that is coarse-grained is kept coherent at the ends of kernels only, as device memory is.
Error set_coarse(Runtime& runtime, const void* pointer, Advice& advice, bool coarse) {
    advice.coarse = coarse ? 1 : 0;
    const Allocation* block = runtime.memory.find(address_of(pointer));
    if (runtime.managed.contains(block->address))
        runtime.set_kind(block->address, coarse ? MemoryKind::device : MemoryKind::managed);
    return kOk;
}

Error advise(const void* pointer, int what, int device) {
    Call call;
    Advice* a = advice_of(call.runtime, pointer);
    if (a == nullptr) return fail(kBad);
    switch (what) {
        case 1: case 2: a->read_mostly = what == 1 ? 1 : 0; return kOk;
        case 3: case 4: a->preferred = what == 3 ? device : kNowhere; return kOk;
        case 5: case 6: a->accessed_by = what == 5 ? device : kNowhere; return kOk;
        case 100: case 101: return set_coarse(call.runtime, pointer, *a, what == 100);
        default: return fail(kBad);
    }
}

Error prefetch(const void* pointer, int device) {
    Call call;
    if (Advice* a = advice_of(call.runtime, pointer); a != nullptr) a->prefetched = device;
    return kOk;
}

/// hipMemRangeAttribute; the devices that access a range are a list.
Error range_attribute(void* data, std::size_t size, int which, const void* pointer) {
    Call call;
    const Advice* a = advice_of(call.runtime, pointer);
    if (a == nullptr || data == nullptr || size < sizeof(int) || size % sizeof(int) != 0) return fail(kBad);
    auto* out = static_cast<int*>(data);
    switch (which) {
        case 1: *out = a->read_mostly; return kOk;
        case 2: *out = a->preferred; return kOk;
        case 3:
            std::fill_n(out, size / sizeof(int), kNowhere);
            *out = a->accessed_by;
            return kOk;
        case 4: *out = a->prefetched; return kOk;
        case 100: *out = a->coarse; return kOk;  // 0 fine, 1 coarse grained
        default: return fail(kBad);
    }
}

struct Known {
    std::uint64_t address, start, bytes;
    bool managed, host;
    std::uint32_t id;
    unsigned flags;
};

/// nullopt for memory that HIP knows nothing of.
std::optional<Known> known(Runtime& runtime, const void* pointer) {
    const std::uint64_t address = address_of(pointer);
    if (const Allocation* b = runtime.memory.find(address); b != nullptr) {
        const auto flags = runtime.host_flags.find(b->address);
        return Known{address, b->address, b->bytes, runtime.managed.contains(b->address), b->host_visible, b->id,
                     flags == runtime.host_flags.end() ? 0 : flags->second};
    }
    if (pointer == nullptr || !runtime.memory.valid(address, 1)) return std::nullopt;
    return Known{address, address, 1, false, true, 0, 0};  // registered by the host
}

int memory_type(const Known& k) {
    const abi::MemoryTypes& types = abi::memory_types(hip_major_version());
    return k.managed ? types.managed : k.host ? types.host : types.device;
}

/// hipPointer_attribute, numbered as CUDA does. Attributes of things that are not emulated are 0.
Error attribute(Runtime& runtime, void* data, int which, const Known& k) {
    const auto put = [data](auto value) {
        std::memcpy(data, &value, sizeof value);
        return kOk;
    };
    switch (which) {
        case 1: return put(static_cast<void*>(&runtime));  // the context
        case 2: return put(memory_type(k));
        case 3: return put(k.address);
        case 4: return put(k.host ? k.address : 0);
        case 7: return put(static_cast<unsigned long long>(k.id) + 1);
        case 8: return put(k.managed);
        case 9: return put(0);  // the device
        case 11: return put(k.start);
        case 12: return put(k.bytes);
        case 13: return put(true);  // mapped
        case 6: case 10: case 15: return put(false);  // synchronous copies, inter-process handles, peer access over the network
        case 14: case 16: return put(0ULL);
        default: return abi::error::not_supported;
    }
}

}  // namespace

HIPSCOPE_API Error hipPointerGetAttributes(abi::PointerAttributes* out, const void* p) {
    Call call;
    const auto k = known(call.runtime, p);
    if (out == nullptr || !k) return fail(kBad);
    *out = {};
    out->type = memory_type(*k);
    out->is_managed = k->managed ? 1 : 0;
    out->device_pointer = const_cast<void*>(p);
    out->host_pointer = k->host ? const_cast<void*>(p) : nullptr;
    out->allocation_flags = k->flags;
    return kOk;
}
HIPSCOPE_API Error hipPointerGetAttribute(void* data, int which, const void* p) {
    Call call;
    const auto k = known(call.runtime, p);
    return data == nullptr || !k ? fail(kBad) : finish(attribute(call.runtime, data, which, *k));
}
/// Of a pointer that is not known all values are 0.
HIPSCOPE_API Error hipDrvPointerGetAttributes(unsigned count, const int* which, void** data, const void* p) {
    Call call;
    const auto k = known(call.runtime, p);
    if (which == nullptr || data == nullptr) return fail(kBad);
    for (unsigned i = 0; i < count; ++i)
        if (const Error e = attribute(call.runtime, data[i], which[i], k.value_or(Known{})); e != kOk) return fail(e);
    return kOk;
}
/// The one attribute that can be set makes copies synchronous, which they are.
HIPSCOPE_API Error hipPointerSetAttribute(const void* value, int which, const void* p) {
    Call call;
    constexpr int synchronous_copies = 6;
    return value == nullptr || which != synchronous_copies || !known(call.runtime, p) ? fail(kBad) : kOk;
}

HIPSCOPE_API Error hipMemPrefetchAsync(const void* p, std::size_t, int device, void*) { return prefetch(p, device); }
HIPSCOPE_API Error hipMemPrefetchAsync_v2(const void* p, std::size_t, abi::MemLocation to, unsigned, void*) {
    return prefetch(p, to.type == abi::kLocationDevice ? to.id : -1);  // the host is device -1
}
HIPSCOPE_API Error hipMemAdvise(const void* p, std::size_t, int what, int device) { return advise(p, what, device); }
HIPSCOPE_API Error hipMemAdvise_v2(const void* p, std::size_t, int what, abi::MemLocation where) {
    return advise(p, what, where.type == abi::kLocationDevice ? where.id : -1);
}
HIPSCOPE_API Error hipMemRangeGetAttribute(void* data, std::size_t size, int which, const void* p, std::size_t) {
    return range_attribute(data, size, which, p);
}
HIPSCOPE_API Error hipMemRangeGetAttributes(void** data, const std::size_t* sizes, const int* which, std::size_t count, const void* p, std::size_t) {
    if (data == nullptr || sizes == nullptr || which == nullptr) return fail(kBad);
    for (std::size_t i = 0; i < count; ++i)
        if (const Error e = range_attribute(data[i], sizes[i], which[i], p); e != kOk) return e;
    return kOk;
}
