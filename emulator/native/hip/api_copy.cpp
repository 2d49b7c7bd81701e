// Copies, fills and symbols. Functions that end in Async put work into a stream; the others wait for it.
#include "hip/api.hpp"
#include "hip/copies.hpp"

namespace {

using namespace hipscope;
using abi::Error;

/// Work of a function that returns when it is done; it cannot be recorded.
Error now(Work work, Stream* stream = nullptr) {
    Call call;
    Stream* target = call->stream_of(stream);
    if (target == nullptr) return fail(abi::error::invalid_handle);
    if (target->capture) target->capture->invalid = true;
    if (target->capture) return fail(abi::error::stream_capture_unsupported);
    const Error error = submit(call.runtime, stream, std::move(work));
    call->wait_for(*target);
    return finish(error);
}

Error later(Work work, Stream* stream) {
    Call call;
    return finish(submit(call.runtime, stream, std::move(work)));
}

/// A checked copy of `bytes`; HIP takes a copy of nothing whatever its pointers are.
bool bad(const void* to, const void* from, std::size_t bytes) { return bytes > 0 && (to == nullptr || from == nullptr); }

Error copy(void* to, const void* from, std::size_t bytes, int kind) {
    return bad(to, from, bytes) ? fail(abi::error::invalid_value) : now(copy_work(to, from, bytes, kind));
}
Error copy(void* to, const void* from, std::size_t bytes, int kind, Stream* stream) {
    return bad(to, from, bytes) ? fail(abi::error::invalid_value) : later(copy_work(to, from, bytes, kind), stream);
}

/// nullopt when a row is longer than a pitch.
std::optional<Work> rows(void* to, std::size_t to_pitch, const void* from, std::size_t from_pitch, std::size_t width, std::size_t height, int kind) {
    if (width > to_pitch || width > from_pitch) return std::nullopt;
    CopyWork w;
    w.p.dst_ptr = {to, to_pitch, width, height};
    w.p.src_ptr = {const_cast<void*>(from), from_pitch, width, height};
    w.p.extent = {width, height, 1};
    w.p.kind = kind;
    return w;
}

/// nullopt, and an error noted, when arrays take part.
std::optional<Work> box(const abi::Memcpy3DParms* p, Error& error) {
    error = abi::error::invalid_value;
    if (p == nullptr) return std::nullopt;
    if (p->src_array != nullptr || p->dst_array != nullptr) {
        Call()->say_unsupported("hipMemcpy3D with arrays");
        error = abi::error::not_supported;
        return std::nullopt;
    }
    return CopyWork{*p};
}

/// A copy between devices is one inside of the only one.
std::optional<abi::Memcpy3DParms> one_device(const abi::Memcpy3DPeerParms* p) {
    if (p == nullptr || p->src_device != 0 || p->dst_device != 0) return std::nullopt;
    return abi::Memcpy3DParms{p->src_array, p->src_pos, p->src_ptr, p->dst_array, p->dst_pos, p->dst_ptr, p->extent, 3};
}

/// hip_Memcpy2D of the driver-style functions.
std::optional<Work> driver_copy(const abi::DriverMemcpy2D* d, Error& error) {
    error = abi::error::invalid_value;
    if (d == nullptr) return std::nullopt;
    error = abi::error::not_supported;
    if (d->from.array != nullptr || d->to.array != nullptr) {
        Call()->say_unsupported("hipMemcpyParam2D with arrays");
        return std::nullopt;
    }
    const auto pitched = [d](const abi::DriverCopySide& s) {
        return abi::PitchedPtr{s.device != nullptr ? s.device : const_cast<void*>(s.host), s.pitch, d->width, d->height};
    };
    CopyWork w;
    w.p.src_ptr = pitched(d->from);
    w.p.dst_ptr = pitched(d->to);
    w.p.src_pos = {d->from.x, d->from.y, 0};
    w.p.dst_pos = {d->to.x, d->to.y, 0};
    w.p.extent = {d->width, d->height, 1};
    w.p.kind = 4;
    return w;
}

template <class T>
Error fill(void* to, T value, std::size_t count) {
    if (count > 0 && to == nullptr) return fail(abi::error::invalid_value);
    return now(fill_work(to, static_cast<unsigned>(value), sizeof(T), count));
}
template <class T>
Error fill(void* to, T value, std::size_t count, Stream* stream) {
    if (count > 0 && to == nullptr) return fail(abi::error::invalid_value);
    return later(fill_work(to, static_cast<unsigned>(value), sizeof(T), count), stream);
}

FillWork rows_of(void* to, std::size_t pitch, int value, std::size_t width, std::size_t height) {
    return {{to, 1, height, pitch, static_cast<unsigned>(value), width}};
}

/// Fills of boxes: the slices of a pitched box lie one behind the other, rows apart by the pitch.
template <class Put>
Error fill_slices(const abi::PitchedPtr& p, int value, const abi::Extent& e, Put put) {
    for (std::size_t z = 0; z < e.depth; ++z) {
        void* slice = static_cast<char*>(p.ptr) + z * p.ysize * p.pitch;
        if (const Error error = put(rows_of(slice, p.pitch, value, e.width, e.height)); error != abi::error::success) return error;
    }
    return abi::error::success;
}

/// `bytes` at `offset` of the variable whose host shadow is `symbol`; nullptr, with the error, when there are none.
void* inside_symbol(const void* symbol, std::size_t bytes, std::size_t offset, Error& error) {
    Call call;
    std::uint64_t address = 0;
    std::size_t size = 0;
    error = symbol_range(call.runtime, symbol, address, size);
    if (error == abi::error::success && (offset > size || bytes > size - offset)) error = abi::error::invalid_value;
    if (error == abi::error::success) return pointer_to(address + offset);
    fail(error);
    return nullptr;
}

}  // namespace

HIPSCOPE_API Error hipMemcpy(void* to, const void* from, std::size_t n, int kind) { return copy(to, from, n, kind); }
HIPSCOPE_API Error hipMemcpy_spt(void* to, const void* from, std::size_t n, int kind) { return copy(to, from, n, kind); }
HIPSCOPE_API Error hipMemcpyAsync(void* to, const void* from, std::size_t n, int kind, Stream* s) { return copy(to, from, n, kind, s); }
HIPSCOPE_API Error hipMemcpyAsync_spt(void* to, const void* from, std::size_t n, int kind, Stream* s) { return copy(to, from, n, kind, per_thread(s)); }
HIPSCOPE_API Error hipMemcpyWithStream(void* to, const void* from, std::size_t n, int kind, Stream* s) {
    return bad(to, from, n) ? fail(abi::error::invalid_value) : now(copy_work(to, from, n, kind), s);
}
HIPSCOPE_API Error hipMemcpyHtoD(void* to, void* from, std::size_t n) { return copy(to, from, n, 1); }
HIPSCOPE_API Error hipMemcpyDtoH(void* to, void* from, std::size_t n) { return copy(to, from, n, 2); }
HIPSCOPE_API Error hipMemcpyDtoD(void* to, void* from, std::size_t n) { return copy(to, from, n, 3); }
HIPSCOPE_API Error hipMemcpyHtoDAsync(void* to, void* from, std::size_t n, Stream* s) { return copy(to, from, n, 1, s); }
HIPSCOPE_API Error hipMemcpyDtoHAsync(void* to, void* from, std::size_t n, Stream* s) { return copy(to, from, n, 2, s); }
HIPSCOPE_API Error hipMemcpyDtoDAsync(void* to, void* from, std::size_t n, Stream* s) { return copy(to, from, n, 3, s); }
HIPSCOPE_API Error hipMemcpyPeer(void* to, int there, const void* from, int here, std::size_t n) {
    return there != 0 || here != 0 ? fail(abi::error::invalid_device) : copy(to, from, n, 3);
}
HIPSCOPE_API Error hipMemcpyPeerAsync(void* to, int there, const void* from, int here, std::size_t n, Stream* s) {
    return there != 0 || here != 0 ? fail(abi::error::invalid_device) : copy(to, from, n, 3, s);
}
HIPSCOPE_API Error hipMemcpy2D(void* to, std::size_t tp, const void* from, std::size_t fp, std::size_t w, std::size_t h, int kind) {
    const auto work = rows(to, tp, from, fp, w, h, kind);
    return work ? now(*work) : fail(abi::error::invalid_pitch);
}
HIPSCOPE_API Error hipMemcpy2D_spt(void* to, std::size_t tp, const void* from, std::size_t fp, std::size_t w, std::size_t h, int kind) {
    return hipMemcpy2D(to, tp, from, fp, w, h, kind);
}
HIPSCOPE_API Error hipMemcpy2DAsync(void* to, std::size_t tp, const void* from, std::size_t fp, std::size_t w, std::size_t h, int kind, Stream* s) {
    const auto work = rows(to, tp, from, fp, w, h, kind);
    return work ? later(*work, s) : fail(abi::error::invalid_pitch);
}
HIPSCOPE_API Error hipMemcpy2DAsync_spt(void* to, std::size_t tp, const void* from, std::size_t fp, std::size_t w, std::size_t h, int kind, Stream* s) {
    return hipMemcpy2DAsync(to, tp, from, fp, w, h, kind, per_thread(s));
}
HIPSCOPE_API Error hipMemcpy3D(const abi::Memcpy3DParms* p) {
    Error error = 0;
    auto work = box(p, error);
    return work ? now(*work) : fail(error);
}
HIPSCOPE_API Error hipMemcpy3DPeer(const abi::Memcpy3DPeerParms* p) {
    const auto same = one_device(p);
    return hipMemcpy3D(same ? &*same : nullptr);
}
HIPSCOPE_API Error hipMemcpy3D_spt(const abi::Memcpy3DParms* p) { return hipMemcpy3D(p); }
HIPSCOPE_API Error hipMemcpy3DAsync(const abi::Memcpy3DParms* p, Stream* s) {
    Error error = 0;
    auto work = box(p, error);
    return work ? later(*work, s) : fail(error);
}
HIPSCOPE_API Error hipMemcpy3DAsync_spt(const abi::Memcpy3DParms* p, Stream* s) { return hipMemcpy3DAsync(p, per_thread(s)); }
HIPSCOPE_API Error hipMemcpy3DPeerAsync(const abi::Memcpy3DPeerParms* p, Stream* s) {
    const auto same = one_device(p);
    return hipMemcpy3DAsync(same ? &*same : nullptr, s);
}
HIPSCOPE_API Error hipDrvMemcpy3D(const abi::DriverMemcpy3D* p) {
    const auto work = driver_copy(Call().runtime, p);
    return work ? now(*work) : fail(p == nullptr ? abi::error::invalid_value : abi::error::not_supported);
}
HIPSCOPE_API Error hipDrvMemcpy3DAsync(const abi::DriverMemcpy3D* p, Stream* s) {
    const auto work = driver_copy(Call().runtime, p);
    return work ? later(*work, s) : fail(p == nullptr ? abi::error::invalid_value : abi::error::not_supported);
}
/// Attributes are hints for how to copy. An error stops the batch at the copy that `failed` names.
HIPSCOPE_API Error hipMemcpyBatchAsync(void** to, void** from, const std::size_t* bytes, std::size_t count, void*, void*, std::size_t, std::size_t* failed, Stream* s) {
    if (to == nullptr || from == nullptr || bytes == nullptr) return fail(abi::error::invalid_value);
    for (std::size_t i = 0; i < count; ++i) {
        const Error error = copy(to[i], from[i], bytes[i], 4, s);
        if (error != abi::error::success && failed != nullptr) *failed = i;
        if (error != abi::error::success) return error;
    }
    return abi::error::success;
}
HIPSCOPE_API Error hipMemcpyParam2D(const abi::DriverMemcpy2D* p) {
    Error error = 0;
    auto work = driver_copy(p, error);
    return work ? now(*work) : fail(error);
}
HIPSCOPE_API Error hipMemcpyParam2DAsync(const abi::DriverMemcpy2D* p, Stream* s) {
    Error error = 0;
    auto work = driver_copy(p, error);
    return work ? later(*work, s) : fail(error);
}
HIPSCOPE_API Error hipDrvMemcpy2DUnaligned(const abi::DriverMemcpy2D* p) { return hipMemcpyParam2D(p); }

HIPSCOPE_API Error hipMemset(void* to, int value, std::size_t n) { return fill(to, static_cast<std::uint8_t>(value), n); }
HIPSCOPE_API Error hipMemset_spt(void* to, int value, std::size_t n) { return hipMemset(to, value, n); }
HIPSCOPE_API Error hipMemsetAsync(void* to, int value, std::size_t n, Stream* s) { return fill(to, static_cast<std::uint8_t>(value), n, s); }
HIPSCOPE_API Error hipMemsetAsync_spt(void* to, int value, std::size_t n, Stream* s) { return hipMemsetAsync(to, value, n, per_thread(s)); }
HIPSCOPE_API Error hipMemsetD8(void* to, unsigned char value, std::size_t n) { return fill(to, value, n); }
HIPSCOPE_API Error hipMemsetD8Async(void* to, unsigned char value, std::size_t n, Stream* s) { return fill(to, value, n, s); }
HIPSCOPE_API Error hipMemsetD16(void* to, unsigned short value, std::size_t n) { return fill(to, value, n); }
HIPSCOPE_API Error hipMemsetD16Async(void* to, unsigned short value, std::size_t n, Stream* s) { return fill(to, value, n, s); }
HIPSCOPE_API Error hipMemsetD32(void* to, int value, std::size_t n) { return fill(to, value, n); }
HIPSCOPE_API Error hipMemsetD32Async(void* to, int value, std::size_t n, Stream* s) { return fill(to, value, n, s); }
HIPSCOPE_API Error hipMemset2D(void* to, std::size_t pitch, int value, std::size_t w, std::size_t h) { return now(rows_of(to, pitch, value, w, h)); }
HIPSCOPE_API Error hipMemset2D_spt(void* to, std::size_t pitch, int value, std::size_t w, std::size_t h) { return hipMemset2D(to, pitch, value, w, h); }
HIPSCOPE_API Error hipMemset2DAsync(void* to, std::size_t pitch, int value, std::size_t w, std::size_t h, Stream* s) {
    return later(rows_of(to, pitch, value, w, h), s);
}
HIPSCOPE_API Error hipMemset2DAsync_spt(void* to, std::size_t pitch, int value, std::size_t w, std::size_t h, Stream* s) {
    return hipMemset2DAsync(to, pitch, value, w, h, per_thread(s));
}
#define HIPSCOPE_MEMSET_D2D(name, bytes)                                                                                          \
    HIPSCOPE_API Error name(void* to, std::size_t pitch, unsigned value, std::size_t w, std::size_t h) {                          \
        return now(FillWork{{to, bytes, h, pitch, value, w}});                                                                    \
    }                                                                                                                             \
    HIPSCOPE_API Error name##Async(void* to, std::size_t pitch, unsigned value, std::size_t w, std::size_t h, Stream* s) {         \
        return later(FillWork{{to, bytes, h, pitch, value, w}}, s);                                                               \
    }
HIPSCOPE_MEMSET_D2D(hipMemsetD2D8, 1)
HIPSCOPE_MEMSET_D2D(hipMemsetD2D16, 2)
HIPSCOPE_MEMSET_D2D(hipMemsetD2D32, 4)
#undef HIPSCOPE_MEMSET_D2D
HIPSCOPE_API Error hipMemset3D(abi::PitchedPtr p, int value, abi::Extent e) {
    return fill_slices(p, value, e, [](FillWork w) { return now(w); });
}
HIPSCOPE_API Error hipMemset3D_spt(abi::PitchedPtr p, int value, abi::Extent e) { return hipMemset3D(p, value, e); }
HIPSCOPE_API Error hipMemset3DAsync(abi::PitchedPtr p, int value, abi::Extent e, Stream* s) {
    return fill_slices(p, value, e, [s](FillWork w) { return later(w, s); });
}
HIPSCOPE_API Error hipMemset3DAsync_spt(abi::PitchedPtr p, int value, abi::Extent e, Stream* s) { return hipMemset3DAsync(p, value, e, per_thread(s)); }

HIPSCOPE_API Error hipMemcpyToSymbol(const void* symbol, const void* from, std::size_t n, std::size_t offset, int kind) {
    Error error = 0;
    void* to = inside_symbol(symbol, n, offset, error);
    return to == nullptr ? error : copy(to, from, n, kind);
}
HIPSCOPE_API Error hipMemcpyToSymbol_spt(const void* symbol, const void* from, std::size_t n, std::size_t offset, int kind) {
    return hipMemcpyToSymbol(symbol, from, n, offset, kind);
}
HIPSCOPE_API Error hipMemcpyToSymbolAsync(const void* symbol, const void* from, std::size_t n, std::size_t offset, int kind, Stream* s) {
    Error error = 0;
    void* to = inside_symbol(symbol, n, offset, error);
    return to == nullptr ? error : copy(to, from, n, kind, s);
}
HIPSCOPE_API Error hipMemcpyToSymbolAsync_spt(const void* symbol, const void* from, std::size_t n, std::size_t offset, int kind, Stream* s) {
    return hipMemcpyToSymbolAsync(symbol, from, n, offset, kind, per_thread(s));
}
HIPSCOPE_API Error hipMemcpyFromSymbol(void* to, const void* symbol, std::size_t n, std::size_t offset, int kind) {
    Error error = 0;
    const void* from = inside_symbol(symbol, n, offset, error);
    return from == nullptr ? error : copy(to, from, n, kind);
}
HIPSCOPE_API Error hipMemcpyFromSymbol_spt(void* to, const void* symbol, std::size_t n, std::size_t offset, int kind) {
    return hipMemcpyFromSymbol(to, symbol, n, offset, kind);
}
HIPSCOPE_API Error hipMemcpyFromSymbolAsync(void* to, const void* symbol, std::size_t n, std::size_t offset, int kind, Stream* s) {
    Error error = 0;
    const void* from = inside_symbol(symbol, n, offset, error);
    return from == nullptr ? error : copy(to, from, n, kind, s);
}
HIPSCOPE_API Error hipMemcpyFromSymbolAsync_spt(void* to, const void* symbol, std::size_t n, std::size_t offset, int kind, Stream* s) {
    return hipMemcpyFromSymbolAsync(to, symbol, n, offset, kind, per_thread(s));
}
HIPSCOPE_API Error hipGetSymbolAddress(void** pointer, const void* symbol) {
    Error error = abi::error::invalid_value;
    if (pointer == nullptr) return fail(error);
    if (void* found = inside_symbol(symbol, 0, 0, error); found != nullptr) *pointer = found;
    return error;
}
HIPSCOPE_API Error hipGetSymbolSize(std::size_t* bytes, const void* symbol) {
    Call call;
    std::uint64_t address = 0;
    return finish(bytes == nullptr ? abi::error::invalid_value : symbol_range(call.runtime, symbol, address, *bytes));
}
