// Virtual memory management: address space, physical memory and mappings of one into the other. Physical memory is a file
// without a name, so that one piece of it can be seen at several addresses.
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cstring>

#include "hip/api.hpp"

namespace hipscope {

/// hipMemGenericAllocationHandle_t.
struct PhysicalMemory {
    int file = -1;
    std::uint64_t bytes = 0;
    abi::MemAllocationProp properties{};
    PhysicalMemory(int file, std::uint64_t bytes) : file(file), bytes(bytes) {}
    ~PhysicalMemory() { close(file); }
    PhysicalMemory(const PhysicalMemory&) = delete;
    PhysicalMemory& operator=(const PhysicalMemory&) = delete;
};

namespace {

using abi::Error;

constexpr Error kOk = abi::error::success, kBad = abi::error::invalid_value;
constexpr std::uint64_t kGranularity = 2U << 20U;
constexpr int kHandleFile = 1;  // hipMemHandleTypePosixFileDescriptor

struct Mapping {
    std::uint64_t bytes;
    std::shared_ptr<PhysicalMemory> memory;
    int access = abi::kAccessNone;
};

struct State {
    std::map<std::uint64_t, std::uint64_t> reserved;  // start -> bytes
    std::map<std::uint64_t, Mapping> mappings;        // by start
    std::map<PhysicalMemory*, std::vector<std::shared_ptr<PhysicalMemory>>> handles;  // one entry for each reference
};

/// Guarded by the lock of a Call.
State& state() {
    static auto* const the_state = new State;  // NOLINT: as long as the process
    return *the_state;
}

bool whole(std::uint64_t value) { return value > 0 && value % kGranularity == 0; }

/// True when [address, address + bytes) lies in one reservation.
bool inside_reservation(std::uint64_t address, std::uint64_t bytes) {
    auto after = state().reserved.upper_bound(address);
    if (after == state().reserved.begin()) return false;
    --after;
    return address + bytes <= after->first + after->second;
}

/// The mappings that fill [address, address + bytes) without a gap; empty when there are none that do exactly that.
std::vector<std::map<std::uint64_t, Mapping>::iterator> covering(std::uint64_t address, std::uint64_t bytes) {
    std::vector<std::map<std::uint64_t, Mapping>::iterator> found;
    std::uint64_t at = address;
    while (at < address + bytes) {
        const auto mapping = state().mappings.find(at);
        if (mapping == state().mappings.end()) return {};
        found.push_back(mapping);
        at += mapping->second.bytes;
    }
    if (at != address + bytes) found.clear();
    return found;
}

std::map<std::uint64_t, Mapping>::iterator mapping_at(std::uint64_t address) {
    auto after = state().mappings.upper_bound(address);
    if (after == state().mappings.begin()) return state().mappings.end();
    --after;
    return address < after->first + after->second.bytes ? after : state().mappings.end();
}

PhysicalMemory* add_handle(int file, std::uint64_t bytes) {
    auto made = std::make_shared<PhysicalMemory>(file, bytes);
    state().handles[made.get()] = {made};
    return made.get();
}

}  // namespace
}  // namespace hipscope

using namespace hipscope;

HIPSCOPE_API Error hipMemGetAllocationGranularity(std::size_t* granularity, const void* properties, int) {
    if (granularity == nullptr || properties == nullptr) return fail(kBad);
    *granularity = kGranularity;
    return kOk;
}
/// The wanted address is a hint that is not followed.
HIPSCOPE_API Error hipMemAddressReserve(void** pointer, std::size_t bytes, std::size_t alignment, void*, unsigned long long flags) {
    Call call;
    if (pointer == nullptr || !whole(bytes) || (alignment & (alignment - 1)) != 0 || flags != 0) return fail(kBad);
    const std::uint64_t address = call->memory.reserve(bytes, std::max<std::uint64_t>(alignment, kGranularity));
    if (address == 0) return fail(abi::error::out_of_memory);
    state().reserved[address] = bytes;
    *pointer = pointer_to(address);
    return kOk;
}
HIPSCOPE_API Error hipMemAddressFree(void* pointer, std::size_t bytes) {
    Call call;
    const auto found = state().reserved.find(address_of(pointer));
    if (found == state().reserved.end() || found->second != bytes) return fail(kBad);
    const auto mapping = state().mappings.lower_bound(found->first);
    if (mapping != state().mappings.end() && mapping->first < found->first + bytes) return fail(kBad);
    call->memory.unreserve(found->first, bytes);
    state().reserved.erase(found);
    return kOk;
}

HIPSCOPE_API Error hipMemCreate(PhysicalMemory** handle, std::size_t bytes, const abi::MemAllocationProp* properties, unsigned long long flags) {
    Call call;
    if (handle == nullptr || properties == nullptr || !whole(bytes) || flags != 0) return fail(kBad);
    if (bytes > call->memory.limit() - std::min(call->memory.limit(), call->memory.in_use())) return fail(abi::error::out_of_memory);
    const int file = memfd_create("hipscope-memory", MFD_CLOEXEC);
    if (file < 0 || ftruncate(file, static_cast<off_t>(bytes)) != 0) {
        if (file >= 0) close(file);
        return fail(abi::error::out_of_memory);
    }
    *handle = add_handle(file, bytes);
    (*handle)->properties = *properties;
    return kOk;
}
HIPSCOPE_API Error hipMemRelease(PhysicalMemory* handle) {
    Call call;
    const auto found = state().handles.find(handle);
    if (found == state().handles.end()) return fail(kBad);
    found->second.pop_back();  // mappings keep the memory alive
    if (found->second.empty()) state().handles.erase(found);
    return kOk;
}
HIPSCOPE_API Error hipMemRetainAllocationHandle(PhysicalMemory** handle, void* pointer) {
    Call call;
    const auto mapping = mapping_at(address_of(pointer));
    if (handle == nullptr || mapping == state().mappings.end()) return fail(kBad);
    *handle = mapping->second.memory.get();
    state().handles[*handle].push_back(mapping->second.memory);
    return kOk;
}
HIPSCOPE_API Error hipMemGetAllocationPropertiesFromHandle(abi::MemAllocationProp* properties, PhysicalMemory* handle) {
    Call call;
    if (properties == nullptr || !state().handles.contains(handle)) return fail(kBad);
    *properties = handle->properties;
    return kOk;
}
HIPSCOPE_API Error hipMemExportToShareableHandle(void* shareable, PhysicalMemory* handle, int type, unsigned long long flags) {
    Call call;
    if (shareable == nullptr || !state().handles.contains(handle) || type != kHandleFile || flags != 0) return fail(kBad);
    *static_cast<int*>(shareable) = fcntl(handle->file, F_DUPFD_CLOEXEC, 0);
    return kOk;
}
/// The descriptor is passed as a pointer's value.
HIPSCOPE_API Error hipMemImportFromShareableHandle(PhysicalMemory** handle, void* shareable, int type) {
    Call call;
    struct stat status {};
    const int file = type == kHandleFile ? fcntl(static_cast<int>(address_of(shareable)), F_DUPFD_CLOEXEC, 0) : -1;
    const bool usable = handle != nullptr && file >= 0 && fstat(file, &status) == 0 && whole(static_cast<std::uint64_t>(status.st_size));
    if (!usable && file >= 0) close(file);
    if (!usable) return fail(kBad);
    *handle = add_handle(file, static_cast<std::uint64_t>(status.st_size));
    return kOk;
}

/// Mapped memory can be used when hipMemSetAccess has allowed it.
HIPSCOPE_API Error hipMemMap(void* pointer, std::size_t bytes, std::size_t offset, PhysicalMemory* handle, unsigned long long flags) {
    Call call;
    const std::uint64_t address = address_of(pointer);
    const auto found = state().handles.find(handle);
    if (found == state().handles.end() || !whole(bytes) || address % kGranularity != 0 || offset % kGranularity != 0 || flags != 0) return fail(kBad);
    if (offset > handle->bytes || bytes > handle->bytes - offset || !inside_reservation(address, bytes)) return fail(kBad);
    if (mapping_at(address) != state().mappings.end()) return fail(kBad);
    if (const auto next = state().mappings.lower_bound(address); next != state().mappings.end() && next->first < address + bytes) return fail(kBad);
    const int how = MAP_SHARED | MAP_FIXED | MAP_NORESERVE;
    if (mmap(pointer, bytes, PROT_READ | PROT_WRITE, how, handle->file, static_cast<off_t>(offset)) != pointer) return fail(abi::error::out_of_memory);
    state().mappings[address] = {bytes, found->second.front()};
    return kOk;
}
HIPSCOPE_API Error hipMemUnmap(void* pointer, std::size_t bytes) {
    Call call;
    const auto mappings = covering(address_of(pointer), bytes);
    if (mappings.empty()) return fail(kBad);
    for (const auto mapping : mappings) {
        const auto& [address, m] = *mapping;
        call->disappears(address);
        call->memory.take(address);
        const int how = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED;
        if (mmap(pointer_to(address), m.bytes, PROT_READ | PROT_WRITE, how, -1, 0) == MAP_FAILED) return fail(abi::error::out_of_memory);
        state().mappings.erase(mapping);
    }
    return kOk;
}
/// Access to read alone is treated as access to read and write.
HIPSCOPE_API Error hipMemSetAccess(void* pointer, std::size_t bytes, const abi::MemAccessDesc* list, std::size_t count) {
    Call call;
    const auto mappings = covering(address_of(pointer), bytes);
    if (mappings.empty() || list == nullptr) return fail(kBad);
    for (std::size_t i = 0; i < count; ++i) {
        if (list[i].location_type != abi::kLocationDevice) continue;  // the host sees device memory anyway
        if (list[i].location_id != 0) return fail(abi::error::invalid_device);
        for (const auto mapping : mappings) {
            auto& [address, m] = *mapping;
            if (list[i].flags == abi::kAccessNone) {
                call->disappears(address);
                call->memory.take(address);
            } else if (m.access == abi::kAccessNone) {
                if (!call->memory.put(address, m.bytes)) return fail(abi::error::out_of_memory);
                call->appeared(address, true);  // it may have been written through another address
            }
            m.access = list[i].flags;
        }
    }
    return kOk;
}
HIPSCOPE_API Error hipMemGetAccess(unsigned long long* flags, const abi::MemLocation* location, void* pointer) {
    Call call;
    const auto mapping = mapping_at(address_of(pointer));
    if (flags == nullptr || location == nullptr || mapping == state().mappings.end()) return fail(kBad);
    if (location->type != abi::kLocationDevice || location->id != 0) return fail(kBad);
    *flags = static_cast<unsigned long long>(mapping->second.access);
    return kOk;
}
