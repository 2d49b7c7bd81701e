// Device memory is host memory here: a copy is a copy.
#include "hip/copies.hpp"

#include <algorithm>
#include <cstring>

#include "hip/results.hpp"
#include "hip/runtime.hpp"
#include "hip/version.hpp"
#include "hip/zero_pages.hpp"

namespace hipscope {
namespace {

using abi::Error;

std::uint64_t address_of(const void* pointer) { return reinterpret_cast<std::uint64_t>(pointer); }

/// True when a pointer into device memory does not have `bytes` valid bytes behind it.
bool overruns(const Runtime& runtime, const void* pointer, std::size_t bytes) {
    const std::uint64_t address = address_of(pointer);
    return address >= Memory::base && address < Memory::base + runtime.memory.range() && bytes > runtime.memory.room(address);
}

/// Memory that programs look at themselves: ordinary, pinned and managed.
bool on_host(const Runtime& runtime, const void* pointer) {
    const Allocation* block = runtime.memory.find(address_of(pointer));
    return block == nullptr || block->host_visible;
}

/// Bytes from the first to the last that a box touches.
std::size_t span(std::size_t width, std::size_t height, std::size_t depth, const abi::PitchedPtr& p) {
    return ((depth - 1) * p.ysize + height - 1) * p.pitch + width;
}

char* first(const abi::PitchedPtr& base, const abi::Pos& pos) {
    return static_cast<char*>(base.ptr) + pos.x + (pos.y + pos.z * base.ysize) * base.pitch;
}

/// A pitch or height of 0 means rows and slices that lie close together.
template <class Number>
abi::PitchedPtr pitched(const abi::DriverMemcpy3DSide<Number>& side, const abi::Extent& extent) {
    const bool host = side.host != nullptr && (side.device == nullptr || static_cast<int>(side.type) == abi::memory_types(hip_major_version()).host);
    void* const start = host ? const_cast<void*>(side.host) : side.device;
    return {start, side.pitch == 0 ? side.x + extent.width : side.pitch, extent.width, side.height == 0 ? side.y + extent.height : side.height};
}

template <class Number>
std::optional<CopyWork> driver_copy_of(Runtime& runtime, const abi::DriverMemcpy3DOf<Number>& d) {
    if (d.from.array != nullptr || d.to.array != nullptr) {
        runtime.say_unsupported("hipDrvMemcpy3D with arrays");
        return std::nullopt;
    }
    constexpr int infer = 4;
    CopyWork w;
    w.p.extent = {d.width, d.height, d.depth};
    w.p.src_ptr = pitched(d.from, w.p.extent);
    w.p.dst_ptr = pitched(d.to, w.p.extent);
    w.p.src_pos = {d.from.x, d.from.y, d.from.z};
    w.p.dst_pos = {d.to.x, d.to.y, d.to.z};
    w.p.kind = infer;
    return w;
}

template <class Number>
abi::DriverMemcpy3DSide<Number> side_of(const abi::PitchedPtr& p, const abi::Pos& pos) {
    const auto& types = abi::memory_types(hip_major_version());
    const bool device = address_of(p.ptr) >= Memory::base && address_of(p.ptr) < Memory::base + Memory::reserved;
    const auto number = [](std::size_t value) { return static_cast<Number>(value); };
    return {number(pos.x), number(pos.y), number(pos.z), 0, static_cast<unsigned>(device ? types.device : types.host),
            device ? nullptr : p.ptr, device ? p.ptr : nullptr, nullptr, number(p.pitch), number(p.ysize)};
}

template <class Number>
void tell_driver_copy_of(const abi::Memcpy3DParms& p, abi::DriverMemcpy3DOf<Number>& to) {
    to.from = side_of<Number>(p.src_ptr, p.src_pos);
    to.to = side_of<Number>(p.dst_ptr, p.dst_pos);
    to.width = static_cast<Number>(p.extent.width);
    to.height = static_cast<Number>(p.extent.height);
    to.depth = static_cast<Number>(p.extent.depth);
}

/// A result that tells nothing: rewrites that compute as little are like it.
void note_odd(Runtime& runtime, const char* data, std::size_t bytes, bool unwritten) {
    if (unwritten)
        runtime.odd_result("unwritten", "the program copies " + std::to_string(bytes) + " bytes of device memory to the host that nothing has written");
    else if (const auto type = all_nan(data, bytes))
        runtime.odd_result("nan", "every " + *type + " of the " + std::to_string(bytes) + " bytes that the program copies to the host is NaN");
}

template <class T>
void fill_row(void* to, unsigned value, std::size_t count) {
    std::fill_n(static_cast<T*>(to), count, static_cast<T>(value));
}

}  // namespace

Error copy_box(Runtime& runtime, const abi::Memcpy3DParms& p) {
    const auto [width, height, depth] = p.extent;
    if (p.kind < 0 || p.kind > 4) return abi::error::invalid_memcpy_direction;
    if (runtime.pending() != abi::error::success) return runtime.pending();
    if (width == 0 || height == 0 || depth == 0) return abi::error::success;
    if (p.src_ptr.ptr == nullptr || p.dst_ptr.ptr == nullptr) return abi::error::invalid_value;
    if (height > 1 && (width > p.src_ptr.pitch || width > p.dst_ptr.pitch)) return abi::error::invalid_value;
    char* const to = first(p.dst_ptr, p.dst_pos);
    const char* const from = first(p.src_ptr, p.src_pos);
    const std::size_t to_span = span(width, height, depth, p.dst_ptr);
    const std::size_t from_span = span(width, height, depth, p.src_ptr);
    if (overruns(runtime, to, to_span) || overruns(runtime, from, from_span)) return abi::error::invalid_value;
    const bool result = runtime.looks_at_results() && runtime.memory.find(address_of(from)) != nullptr && on_host(runtime, to) && !on_host(runtime, from);
    const bool unwritten = result && height == 1 && depth == 1 && never_written(from, width);
    for (std::size_t z = 0; z < depth; ++z)
        for (std::size_t y = 0; y < height; ++y)
            std::memmove(to + (z * p.dst_ptr.ysize + y) * p.dst_ptr.pitch, from + (z * p.src_ptr.ysize + y) * p.src_ptr.pitch, width);
    runtime.touched(to, to_span, true);
    runtime.touched(from, from_span, false);
    if (result && height == 1 && depth == 1) note_odd(runtime, to, width, unwritten);
    if (runtime.notes_effects() && runtime.memory.find(address_of(from)) != nullptr && on_host(runtime, to)) {
        std::string rows;
        for (std::size_t z = 0; z < depth; ++z)
            for (std::size_t y = 0; y < height; ++y) rows.append(to + (z * p.dst_ptr.ysize + y) * p.dst_ptr.pitch, width);
        runtime.copied_to_host(rows, height == 1 && depth == 1 ? address_of(from) : 0);
    }
    if (runtime.sanitizer)
        for (std::size_t z = 0; z < depth; ++z)
            for (std::size_t y = 0; y < height; ++y)
                runtime.sanitizer->copied(to + (z * p.dst_ptr.ysize + y) * p.dst_ptr.pitch, from + (z * p.src_ptr.ysize + y) * p.src_ptr.pitch, width);
    return abi::error::success;
}

std::optional<CopyWork> driver_copy(Runtime& runtime, const abi::DriverMemcpy3D* p) {
    if (p == nullptr) return std::nullopt;
    if (hip_major_version() < 6) return driver_copy_of(runtime, *reinterpret_cast<const abi::DriverMemcpy3DOf<unsigned>*>(p));
    return driver_copy_of(runtime, *reinterpret_cast<const abi::DriverMemcpy3DOf<std::size_t>*>(p));
}

void tell_driver_copy(const CopyWork& work, abi::DriverMemcpy3D& to) {
    if (hip_major_version() < 6) tell_driver_copy_of(work.p, reinterpret_cast<abi::DriverMemcpy3DOf<unsigned>&>(to));
    else tell_driver_copy_of(work.p, reinterpret_cast<abi::DriverMemcpy3DOf<std::size_t>&>(to));
}

Error fill_box(Runtime& runtime, const abi::MemsetParams& p) {
    if (runtime.pending() != abi::error::success) return runtime.pending();
    if (p.width == 0 || p.height == 0) return abi::error::success;
    if (p.element_size != 1 && p.element_size != 2 && p.element_size != 4) return abi::error::invalid_value;
    const std::size_t row = p.width * p.element_size;
    if (p.dst == nullptr || (p.height > 1 && row > p.pitch)) return abi::error::invalid_value;
    const std::size_t bytes = (p.height - 1) * p.pitch + row;
    if (overruns(runtime, p.dst, bytes)) return abi::error::invalid_value;
    const bool gapless_zeros = p.value == 0 && (p.height == 1 || row == p.pitch);
    const std::size_t rows = gapless_zeros && zeroed_by_giving_back(p.dst, bytes) ? 0 : p.height;
    for (std::size_t y = 0; y < rows; ++y) {
        void* to = static_cast<char*>(p.dst) + y * p.pitch;
        if (p.element_size == 1) std::memset(to, static_cast<int>(p.value & 0xffU), p.width);
        else if (p.element_size == 2) fill_row<std::uint16_t>(to, p.value, p.width);
        else fill_row<std::uint32_t>(to, p.value, p.width);
    }
    runtime.touched(p.dst, bytes, true);
    if (runtime.sanitizer)
        for (std::size_t y = 0; y < p.height; ++y) runtime.sanitizer->filled(static_cast<char*>(p.dst) + y * p.pitch, row);
    return abi::error::success;
}

}  // namespace hipscope
