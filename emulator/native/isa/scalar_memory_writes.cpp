// Scalar memory beyond plain loads: buffer loads, stores and atomics of SGPRs (manual chapter 8). LLVM assembles the stores and
// atomics for gfx90a and gfx942 and never emits them.
#include <atomic>
#include <cstring>

#include "isa/families.hpp"
#include "isa/scalars.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

/// How the base operand is read: an address, or a buffer descriptor whose NUM_RECORDS (bytes) bounds the access.
struct Pointer {
    static constexpr Type type = Type::b64;
    static u64 base(const Wave& w, const Operand& o) { return scalar64(w, o); }
    static u64 size(const Wave&, const Operand&) { return ~u64{0}; }
};
struct Buffer {
    static constexpr Type type = Type::wide;
    static u64 base(const Wave& w, const Operand& o) { return w.s64(o.index) & 0xffffffffffffULL; }
    static u64 size(const Wave& w, const Operand& o) { return w.sgpr[o.index + 2U]; }
};

/// s_buffer_load: each dword out of range reads zero.
template <u32 dwords>
Step buffer_load(Wave& w, const Instruction& in) {
    const u64 size = Buffer::size(w, in.source[0]), offset = smem_offset(w, in, 1) & ~u64{3}, base = Buffer::base(w, in.source[0]);
    u32 value[dwords] = {};
    u32 inside = 0;
    while (inside < dwords && offset + 4 * inside + 4 <= size) ++inside;
    const u64 address = (base + offset) & ~u64{3};
    if (inside != 0) {
        if (!w.memory->valid(address, inside * 4)) return fault(w, FaultKind::out_of_bounds, address, inside * 4, -1, false);
        std::memcpy(value, reinterpret_cast<const void*>(address), inside * std::size_t{4});
        record_scalar(w, AccessKind::load, address, inside * 4);
    } else {
        w.access.space = Space::none;
    }
    std::memcpy(&w.sgpr[in.destination[0].index], value, sizeof value);
    return Step::next;
}

template <class Base, u32 dwords>
Step store(Wave& w, const Instruction& in) {
    const u64 offset = smem_offset(w, in, 2);
    const u64 size = Base::size(w, in.source[1]);
    const u64 address = (Base::base(w, in.source[1]) + offset) & ~u64{3};
    w.access.space = Space::none;
    for (u32 n = 0; n < dwords; ++n) {
        if ((offset & ~u64{3}) + 4 * n + 4 > size) break;
        if (!w.memory->valid(address + u64{4} * n, 4)) return fault(w, FaultKind::out_of_bounds, address + u64{4} * n, 4, -1, true);
        std::memcpy(reinterpret_cast<void*>(address + u64{4} * n), &w.sgpr[in.source[0].index + n], 4);
        record_scalar(w, AccessKind::store, address, 4 * (n + 1));
    }
    return Step::next;
}

/// The data SGPRs hold the operand (compare-and-swap: new value, then expected one) and, with GLC, get the old value.
template <class Base, class F, class T, bool two>
Step update(Wave& w, const Instruction& in) {
    using R = std::conditional_t<sizeof(T) == 8, u64, u32>;
    const u64 offset = smem_offset(w, in, 2);
    const u64 address = Base::base(w, in.source[1]) + offset;
    w.access.space = Space::none;
    if (offset + sizeof(T) > Base::size(w, in.source[1])) return Step::next;
    if ((address & (sizeof(T) - 1)) != 0) return fault(w, FaultKind::misaligned, address, sizeof(T), -1, true);
    if (!w.memory->valid(address, sizeof(T))) return fault(w, FaultKind::out_of_bounds, address, sizeof(T), -1, true);
    T value, expected;
    std::memcpy(&value, &w.sgpr[in.source[0].index], sizeof value);
    std::memcpy(&expected, &w.sgpr[in.source[0].index + (two ? sizeof(T) / 4 : 0)], sizeof expected);
    std::atomic_ref<R> cell(*reinterpret_cast<R*>(address));
    R old = cell.load(std::memory_order_relaxed);
    while (!cell.compare_exchange_weak(old, bits<R>(F{}(bits<T>(old), value, expected)), std::memory_order_acq_rel, std::memory_order_relaxed)) {
    }
    if (in.modifiers.sc0) std::memcpy(&w.sgpr[in.source[0].index], &old, sizeof old);
    record_scalar(w, in.modifiers.sc0 ? AccessKind::atomic_return : AccessKind::atomic, address, sizeof(T));
    return Step::next;
}

constexpr Entry loads(std::string_view name, Handler run) {
    Entry e;
    e.name = name;
    e.unit = Unit::smem;
    e.run = run;
    e.destinations = 1;
    e.sources = 2;
    e.source = {Type::wide, Type::b32};
    return e;
}
constexpr Entry writes(std::string_view name, Handler run, Type base) {
    Entry e;
    e.name = name;
    e.unit = Unit::smem;
    e.run = run;
    e.sources = 3;
    e.source = {Type::wide, base, Type::b32};
    return e;
}
template <class Base, bool two, class F, class T>
constexpr Entry atomic_row(std::string_view name, T (F::*)(T, T, T) const) { return writes(name, &update<Base, F, T, two>, Base::type); }
template <class Base, class F>
constexpr Entry scalar_op(std::string_view name, F) { return atomic_row<Base, false, F>(name, &F::operator()); }
template <class Base, class F>
constexpr Entry scalar_swap(std::string_view name, F) { return atomic_row<Base, true, F>(name, &F::operator()); }

}  // namespace

Table scalar_memory_writes() {
    static constexpr Entry rows[] = {
        loads("s_buffer_load_dword", &buffer_load<1>),
        loads("s_buffer_load_dwordx2", &buffer_load<2>),
        loads("s_buffer_load_dwordx4", &buffer_load<4>),
        loads("s_buffer_load_dwordx8", &buffer_load<8>),
        loads("s_buffer_load_dwordx16", &buffer_load<16>),
        writes("s_store_dword", &store<Pointer, 1>, Type::b64),
        writes("s_store_dwordx2", &store<Pointer, 2>, Type::b64),
        writes("s_store_dwordx4", &store<Pointer, 4>, Type::b64),
        writes("s_buffer_store_dword", &store<Buffer, 1>, Type::wide),
        writes("s_buffer_store_dwordx2", &store<Buffer, 2>, Type::wide),
        writes("s_buffer_store_dwordx4", &store<Buffer, 4>, Type::wide),
        scalar_op<Pointer>("s_atomic_swap", [](u32, u32 d, u32) -> u32 { return d; }),
        scalar_op<Buffer>("s_buffer_atomic_swap", [](u32, u32 d, u32) -> u32 { return d; }),
        scalar_op<Pointer>("s_atomic_add", [](u32 m, u32 d, u32) -> u32 { return m + d; }),
        scalar_op<Buffer>("s_buffer_atomic_add", [](u32 m, u32 d, u32) -> u32 { return m + d; }),
        scalar_op<Pointer>("s_atomic_sub", [](u32 m, u32 d, u32) -> u32 { return m - d; }),
        scalar_op<Buffer>("s_buffer_atomic_sub", [](u32 m, u32 d, u32) -> u32 { return m - d; }),
        scalar_op<Pointer>("s_atomic_smin", [](i32 m, i32 d, i32) -> i32 { return smaller(m, d); }),
        scalar_op<Buffer>("s_buffer_atomic_smin", [](i32 m, i32 d, i32) -> i32 { return smaller(m, d); }),
        scalar_op<Pointer>("s_atomic_umin", [](u32 m, u32 d, u32) -> u32 { return smaller(m, d); }),
        scalar_op<Buffer>("s_buffer_atomic_umin", [](u32 m, u32 d, u32) -> u32 { return smaller(m, d); }),
        scalar_op<Pointer>("s_atomic_smax", [](i32 m, i32 d, i32) -> i32 { return larger(m, d); }),
        scalar_op<Buffer>("s_buffer_atomic_smax", [](i32 m, i32 d, i32) -> i32 { return larger(m, d); }),
        scalar_op<Pointer>("s_atomic_umax", [](u32 m, u32 d, u32) -> u32 { return larger(m, d); }),
        scalar_op<Buffer>("s_buffer_atomic_umax", [](u32 m, u32 d, u32) -> u32 { return larger(m, d); }),
        scalar_op<Pointer>("s_atomic_and", [](u32 m, u32 d, u32) -> u32 { return m & d; }),
        scalar_op<Buffer>("s_buffer_atomic_and", [](u32 m, u32 d, u32) -> u32 { return m & d; }),
        scalar_op<Pointer>("s_atomic_or", [](u32 m, u32 d, u32) -> u32 { return m | d; }),
        scalar_op<Buffer>("s_buffer_atomic_or", [](u32 m, u32 d, u32) -> u32 { return m | d; }),
        scalar_op<Pointer>("s_atomic_xor", [](u32 m, u32 d, u32) -> u32 { return m ^ d; }),
        scalar_op<Buffer>("s_buffer_atomic_xor", [](u32 m, u32 d, u32) -> u32 { return m ^ d; }),
        scalar_op<Pointer>("s_atomic_inc", [](u32 m, u32 d, u32) -> u32 { return m >= d ? u32{0} : m + u32{1}; }),
        scalar_op<Buffer>("s_buffer_atomic_inc", [](u32 m, u32 d, u32) -> u32 { return m >= d ? u32{0} : m + u32{1}; }),
        scalar_op<Pointer>("s_atomic_dec", [](u32 m, u32 d, u32) -> u32 { return m == 0 || m > d ? d : m - u32{1}; }),
        scalar_op<Buffer>("s_buffer_atomic_dec", [](u32 m, u32 d, u32) -> u32 { return m == 0 || m > d ? d : m - u32{1}; }),
        scalar_swap<Pointer>("s_atomic_cmpswap", [](u32 m, u32 d, u32 expected) -> u32 { return m == expected ? d : m; }),
        scalar_swap<Buffer>("s_buffer_atomic_cmpswap", [](u32 m, u32 d, u32 expected) -> u32 { return m == expected ? d : m; }),
        scalar_op<Pointer>("s_atomic_swap_x2", [](u64, u64 d, u64) -> u64 { return d; }),
        scalar_op<Buffer>("s_buffer_atomic_swap_x2", [](u64, u64 d, u64) -> u64 { return d; }),
        scalar_op<Pointer>("s_atomic_add_x2", [](u64 m, u64 d, u64) -> u64 { return m + d; }),
        scalar_op<Buffer>("s_buffer_atomic_add_x2", [](u64 m, u64 d, u64) -> u64 { return m + d; }),
        scalar_op<Pointer>("s_atomic_sub_x2", [](u64 m, u64 d, u64) -> u64 { return m - d; }),
        scalar_op<Buffer>("s_buffer_atomic_sub_x2", [](u64 m, u64 d, u64) -> u64 { return m - d; }),
        scalar_op<Pointer>("s_atomic_smin_x2", [](i64 m, i64 d, i64) -> i64 { return smaller(m, d); }),
        scalar_op<Buffer>("s_buffer_atomic_smin_x2", [](i64 m, i64 d, i64) -> i64 { return smaller(m, d); }),
        scalar_op<Pointer>("s_atomic_umin_x2", [](u64 m, u64 d, u64) -> u64 { return smaller(m, d); }),
        scalar_op<Buffer>("s_buffer_atomic_umin_x2", [](u64 m, u64 d, u64) -> u64 { return smaller(m, d); }),
        scalar_op<Pointer>("s_atomic_smax_x2", [](i64 m, i64 d, i64) -> i64 { return larger(m, d); }),
        scalar_op<Buffer>("s_buffer_atomic_smax_x2", [](i64 m, i64 d, i64) -> i64 { return larger(m, d); }),
        scalar_op<Pointer>("s_atomic_umax_x2", [](u64 m, u64 d, u64) -> u64 { return larger(m, d); }),
        scalar_op<Buffer>("s_buffer_atomic_umax_x2", [](u64 m, u64 d, u64) -> u64 { return larger(m, d); }),
        scalar_op<Pointer>("s_atomic_and_x2", [](u64 m, u64 d, u64) -> u64 { return m & d; }),
        scalar_op<Buffer>("s_buffer_atomic_and_x2", [](u64 m, u64 d, u64) -> u64 { return m & d; }),
        scalar_op<Pointer>("s_atomic_or_x2", [](u64 m, u64 d, u64) -> u64 { return m | d; }),
        scalar_op<Buffer>("s_buffer_atomic_or_x2", [](u64 m, u64 d, u64) -> u64 { return m | d; }),
        scalar_op<Pointer>("s_atomic_xor_x2", [](u64 m, u64 d, u64) -> u64 { return m ^ d; }),
        scalar_op<Buffer>("s_buffer_atomic_xor_x2", [](u64 m, u64 d, u64) -> u64 { return m ^ d; }),
        scalar_op<Pointer>("s_atomic_inc_x2", [](u64 m, u64 d, u64) -> u64 { return m >= d ? u64{0} : m + u64{1}; }),
        scalar_op<Buffer>("s_buffer_atomic_inc_x2", [](u64 m, u64 d, u64) -> u64 { return m >= d ? u64{0} : m + u64{1}; }),
        scalar_op<Pointer>("s_atomic_dec_x2", [](u64 m, u64 d, u64) -> u64 { return m == 0 || m > d ? d : m - u64{1}; }),
        scalar_op<Buffer>("s_buffer_atomic_dec_x2", [](u64 m, u64 d, u64) -> u64 { return m == 0 || m > d ? d : m - u64{1}; }),
        scalar_swap<Pointer>("s_atomic_cmpswap_x2", [](u64 m, u64 d, u64 expected) -> u64 { return m == expected ? d : m; }),
        scalar_swap<Buffer>("s_buffer_atomic_cmpswap_x2", [](u64 m, u64 d, u64 expected) -> u64 { return m == expected ? d : m; }),
    };
    return rows;
}

}  // namespace hipscope::HIPSCOPE_ISA
