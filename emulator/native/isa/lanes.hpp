// The operand layer: turns a lambda on the values of one lane into a handler for a whole wave.
//
// In: a captureless lambda whose parameter types say what the operands are (float, i32, f16, bool = lane mask...).
// Out: a table Entry. Fetching, broadcasting, modifiers, DPP, SDWA, op_sel, the execution mask and write-back are
// done here, once; a row of an instruction table is only the arithmetic.
#pragma once

#include <array>
#include <cstddef>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/wave.hpp"
#include "isa/entry.hpp"
#include "isa/mode.hpp"
#include "isa/number.hpp"

#if defined(__clang__)
#define HIPSCOPE_EVERY_LANE _Pragma("clang loop vectorize(assume_safety)") for (int i = 0; i < kLanes; ++i)
#else
#define HIPSCOPE_EVERY_LANE _Pragma("GCC ivdep") for (int i = 0; i < kLanes; ++i)
#endif

namespace hipscope::HIPSCOPE_ISA {

using isa::Entry;
using isa::Table;
using isa::Type;

/// Two floats of one 64-bit operand (v_pk_*_f32).
struct f32x2 {
    f32 lo, hi;
};
/// Two halves or two 16-bit integers of one register.
struct f16x2 {
    f16 lo, hi;
};
struct u16x2 {
    u16 lo, hi;
};
/// A source of v_fma_mix: f16 or f32, widened by the operand layer.
struct mixed {
    f32 value;
};
/// A result that also gives one bit per lane (carry, overflow, v_div_scale's choice).
template <class T>
struct WithMask {
    T value;
    bool mask;
};

/// Where the 64 values of one operand are: low and, for 64-bit types, high dwords.
struct Row {
    const u32* lo;
    const u32* hi;
};
struct Target {
    u32* lo;
    u32* hi;
    u32* mask;
};

template <class T>
struct Lane;

template <class T, Type type_, int dwords_>
struct Lane32 {
    static constexpr Type type = type_;
    static constexpr int dwords = dwords_;
    static constexpr bool masks = false;
    HIPSCOPE_INLINE static T load(Row r, int i) { return bits<T>(r.lo[i]); }
    HIPSCOPE_INLINE static void store(Target t, int i, T v) { t.lo[i] = bits<u32>(v); }
};
template <> struct Lane<u32> : Lane32<u32, Type::b32, 1> {};
template <> struct Lane<i32> : Lane32<i32, Type::b32, 1> {};
template <> struct Lane<f32> : Lane32<f32, Type::f32, 1> {};
/// Pairs are put together from shifts: compilers vectorize those, not casts of two-member structures.
template <> struct Lane<u16x2> : Lane32<u32, Type::pk16, 1> {
    HIPSCOPE_INLINE static u16x2 load(Row r, int i) { return {static_cast<u16>(r.lo[i]), static_cast<u16>(r.lo[i] >> 16U)}; }
    HIPSCOPE_INLINE static void store(Target t, int i, u16x2 v) { t.lo[i] = u32{v.lo} | (u32{v.hi} << 16U); }
};
template <> struct Lane<f16x2> : Lane32<u32, Type::pk_f16, 1> {
    HIPSCOPE_INLINE static f16x2 load(Row r, int i) { return {{static_cast<u16>(r.lo[i])}, {static_cast<u16>(r.lo[i] >> 16U)}}; }
    HIPSCOPE_INLINE static void store(Target t, int i, f16x2 v) { t.lo[i] = u32{v.lo.bits} | (u32{v.hi.bits} << 16U); }
};
template <> struct Lane<mixed> : Lane32<mixed, Type::mix, 1> {};

template <class T, Type type_>
struct Lane16 {
    static constexpr Type type = type_;
    static constexpr int dwords = 1;
    static constexpr bool masks = false;
    HIPSCOPE_INLINE static T load(Row r, int i) { return bits<T>(static_cast<u16>(r.lo[i])); }
    HIPSCOPE_INLINE static void store(Target t, int i, T v) { t.lo[i] = bits<u16>(v); }
};
template <> struct Lane<u16> : Lane16<u16, Type::b16> {};
template <> struct Lane<i16> : Lane16<i16, Type::b16> {};
template <> struct Lane<f16> : Lane16<f16, Type::f16> {};

template <class T, Type type_>
struct Lane64 {
    static constexpr Type type = type_;
    static constexpr int dwords = 2;
    static constexpr bool masks = false;
    HIPSCOPE_INLINE static T load(Row r, int i) { return bits<T>(u64{r.lo[i]} | (u64{r.hi[i]} << 32U)); }
    HIPSCOPE_INLINE static void store(Target t, int i, T v) {
        const u64 b = bits<u64>(v);
        t.lo[i] = static_cast<u32>(b);
        t.hi[i] = static_cast<u32>(b >> 32U);
    }
};
template <> struct Lane<u64> : Lane64<u64, Type::b64> {};
template <> struct Lane<i64> : Lane64<i64, Type::i64> {};
template <> struct Lane<f64> : Lane64<f64, Type::f64> {};
template <> struct Lane<f32x2> {
    static constexpr Type type = Type::pk_f32;
    static constexpr int dwords = 2;
    static constexpr bool masks = false;
    HIPSCOPE_INLINE static f32x2 load(Row r, int i) { return {bits<f32>(r.lo[i]), bits<f32>(r.hi[i])}; }
    HIPSCOPE_INLINE static void store(Target t, int i, f32x2 v) {
        t.lo[i] = bits<u32>(v.lo);
        t.hi[i] = bits<u32>(v.hi);
    }
};
/// A lane mask: source from an SGPR pair, or a result of which each lane gives one bit.
template <> struct Lane<bool> {
    static constexpr Type type = Type::mask;
    static constexpr int dwords = 0;
    static constexpr bool masks = true;
    HIPSCOPE_INLINE static bool load(Row r, int i) { return r.lo[i] != 0; }
    HIPSCOPE_INLINE static void store(Target t, int i, bool v) { t.mask[i] = 0U - static_cast<u32>(v); }
};
template <class T> struct Lane<WithMask<T>> {
    static constexpr Type type = Lane<T>::type;
    static constexpr int dwords = Lane<T>::dwords;
    static constexpr bool masks = true;
    HIPSCOPE_INLINE static void store(Target t, int i, WithMask<T> v) {
        Lane<T>::store(t, i, v.value);
        t.mask[i] = 0U - static_cast<u32>(v.mask);
    }
};

/// Registers that only have a source encoding (section 5.1); they are numbered after the register file.
inline constexpr u32 source_vccz = 251, source_execz = 252, source_scc = 253;

u32 special_source(const Wave& wave, u32 index);
HIPSCOPE_INLINE u32 scalar32(const Wave& w, const Operand& o) {
    if (o.kind == OperandKind::sgpr) return o.index < sreg::count ? w.sgpr[o.index] : special_source(w, o.index);
    return static_cast<u32>(o.literal);
}
HIPSCOPE_INLINE u64 scalar64(const Wave& w, const Operand& o) {
    if (o.kind == OperandKind::sgpr) return o.index < sreg::count ? w.s64(o.index) : special_source(w, o.index);
    return o.literal;
}

/// One row of 0 / ~0 per bit of `mask`.
HIPSCOPE_INLINE void expand_mask(u64 mask, u32* row) {
    const u32 half[2] = {static_cast<u32>(mask), static_cast<u32>(mask >> 32U)};
    for (int h = 0; h < 2; ++h) {
        for (u32 i = 0; i < 32; ++i) row[h * 32 + static_cast<int>(i)] = 0U - ((half[h] >> i) & 1U);
    }
}
/// Bit i is set when row[i] is ~0 (rows hold 0 or ~0).
u64 collect_mask(const u32* row);

/// Copies the lanes of `mask` from `from` to `to`.
HIPSCOPE_INLINE void blend(u32* to, const u32* from, u64 mask) {
    const u32 half[2] = {static_cast<u32>(mask), static_cast<u32>(mask >> 32U)};
    for (int h = 0; h < 2; ++h) {
        for (u32 i = 0; i < 32; ++i) {
            const u32 keep = ((half[h] >> i) & 1U) - 1U;
            const int lane = h * 32 + static_cast<int>(i);
            to[lane] = (to[lane] & keep) | (from[lane] & ~keep);
        }
    }
}

using RowBuffer = u32[2][kLanes];

/// The general operand path: modifiers, DPP, SDWA, op_sel, special registers. May clear bits of `active` (DPP).
Row fetch_modified(const Wave& wave, const Instruction& in, int k, RowBuffer& buffer, Type type, u64& active);

template <class T>
HIPSCOPE_INLINE Row fetch(const Wave& w, const Instruction& in, int k, RowBuffer& buffer, u64& active) {
    const Operand& o = in.source[k];
    if constexpr (Lane<T>::type == Type::mask) {
        expand_mask(scalar64(w, o), buffer[0]);
        return {buffer[0], nullptr};
    } else {
        if (!o.plain) [[unlikely]] return fetch_modified(w, in, k, buffer, Lane<T>::type, active);
        if (o.kind == OperandKind::vgpr || o.kind == OperandKind::agpr) return {w.vgpr[o.index], w.vgpr[o.index + 1]};
        if constexpr (Lane<T>::dwords == 2) {
            const u64 value = scalar64(w, o);
            for (int i = 0; i < kLanes; ++i) buffer[0][i] = static_cast<u32>(value);
            for (int i = 0; i < kLanes; ++i) buffer[1][i] = static_cast<u32>(value >> 32U);
        } else {
            const u32 value = scalar32(w, o);
            for (int i = 0; i < kLanes; ++i) buffer[0][i] = value;
        }
        return {buffer[0], buffer[1]};
    }
}

/// Write-back with omod, clamp, SDWA's destination select and op_sel's high half.
void write_modified(Wave& wave, const Instruction& in, RowBuffer& out, int dwords, u64 active, Type type);
/// Writes one bit per lane of `active` to the SGPR pair of `o` (v_cmpx: to EXEC as well).
HIPSCOPE_INLINE void write_mask(Wave& w, const Instruction& in, const Operand& o, const u32* row, u64 active, bool compare) {
    const u64 mask = collect_mask(row) & active;
    w.set_s64(o.index, mask);
    if (compare && in.extra == 1) w.set_s64(sreg::exec, mask);
}

template <class F, class R, class... A, std::size_t... K>
HIPSCOPE_INLINE void each_lane(Target target, std::index_sequence<K...>, const std::array<Row, sizeof...(A)>& rows, std::tuple<A...>*, R*) {
    const std::tuple<decltype((void)K, Row{})...> r{rows[K]...};
    HIPSCOPE_EVERY_LANE { Lane<R>::store(target, i, F{}(Lane<A>::load(std::get<K>(r), i)...)); }
}
template <class F, class R, class... A, std::size_t... K>
HIPSCOPE_INLINE void active_lanes(Target target, u64 active, std::index_sequence<K...>, const std::array<Row, sizeof...(A)>& rows, std::tuple<A...>*, R*) {
    for (u64 left = active; left != 0; left &= left - 1) {
        const int i = std::countr_zero(left);
        Lane<R>::store(target, i, F{}(Lane<A>::load(rows[K], i)...));
    }
}

template <class T>
inline constexpr bool is_float = std::is_floating_point_v<T> || std::is_same_v<T, f16> || std::is_same_v<T, f32x2> ||
                                 std::is_same_v<T, f16x2> || std::is_same_v<T, mixed>;

template <class T>
inline constexpr bool is_wide = std::is_same_v<T, f64> || std::is_same_v<T, f16> || std::is_same_v<T, f16x2>;

template <class T>
inline constexpr bool is_half = std::is_same_v<T, f16> || std::is_same_v<T, f16x2>;

/// Stops the wave: fills Wave::fault. Returns Step::fault.
Step fault(Wave& wave, FaultKind kind, u64 address, u32 bytes, int lane, bool write);

/// The handler made of lambda F. `Scalarly`: lane by lane over active lanes only (libm calls, data-dependent loops).
template <class F, bool Scalarly, class R, class... A>
struct LaneOp {
    static Step run(Wave& w, const Instruction& in) { return apply(w, in, std::index_sequence_for<A...>{}); }

    template <std::size_t... K>
    HIPSCOPE_INLINE static Step apply(Wave& w, const Instruction& in, std::index_sequence<K...> k) {
        alignas(64) u32 buffer[sizeof...(A)][2][kLanes];
        alignas(64) RowBuffer out;
        alignas(64) u32 mask[kLanes];
        if constexpr (is_half<R>) {  // overflow clamped to the largest half: not emulated
            if (((w.mode >> mode_fp16_overflow_bit) & 1U) != 0) [[unlikely]] return fault(w, FaultKind::unsupported, 0, 0, -1, false);
        }
        u64 active = w.exec();
        const std::array<Row, sizeof...(A)> rows{fetch<A>(w, in, static_cast<int>(K), buffer[K], active)...};
        const bool direct = in.simple && active == ~u64{0};
        const Operand& d = in.destination[0];
        Target target{out[0], out[1], mask};
        if constexpr (Lane<R>::dwords != 0) {
            if (direct) target = {w.vgpr[d.index], w.vgpr[d.index + 1], mask};
        }
        {
            const ModeGuard guard = ModeGuard::when((is_float<A> || ...), (is_wide<A> || ...), w.mode);
            if constexpr (Scalarly) {
                if constexpr (Lane<R>::masks) for (u32& m : mask) m = 0;
                active_lanes<F>(target, active, k, rows, static_cast<std::tuple<A...>*>(nullptr), static_cast<R*>(nullptr));
            } else {
                each_lane<F>(target, k, rows, static_cast<std::tuple<A...>*>(nullptr), static_cast<R*>(nullptr));
            }
        }
        if constexpr (Lane<R>::dwords != 0) {
            if (!direct) {
                if (!in.simple) {
                    write_modified(w, in, out, Lane<R>::dwords, active, Lane<R>::type);
                } else {
                    blend(w.vgpr[d.index], out[0], active);
                    if constexpr (Lane<R>::dwords == 2) blend(w.vgpr[d.index + 1], out[1], active);
                }
            }
        }
        if constexpr (Lane<R>::masks) write_mask(w, in, in.destination[Lane<R>::dwords != 0 ? 1 : 0], mask, active, Lane<R>::dwords == 0);
        return Step::next;
    }
};

template <bool Scalarly, class F, class R, class... A>
constexpr Entry lane_entry(std::string_view name, Unit unit, R (F::*)(A...) const) {
    Entry e;
    e.name = name;
    e.unit = unit;
    e.run = &LaneOp<F, Scalarly, R, A...>::run;
    e.destinations = (Lane<R>::dwords != 0 ? 1 : 0) + (Lane<R>::masks ? 1 : 0);
    e.sources = sizeof...(A);
    std::size_t k = 0;
    ((e.source[k++] = Lane<A>::type), ...);
    return e;
}

/// A vector instruction: the lambda is applied to all 64 lanes in a vectorized loop.
template <class F>
constexpr Entry op(std::string_view name, Unit unit, F) { return lane_entry<false>(name, unit, &F::operator()); }
/// The same, lane by lane and only where EXEC is set.
template <class F>
constexpr Entry slow_op(std::string_view name, Unit unit, F) { return lane_entry<true>(name, unit, &F::operator()); }

/// A vector instruction with a vectorized form for waves of which no active lane has its VCC bit set, and another.
template <class Common, class Rare>
constexpr Entry op_unless_vcc(std::string_view name, Unit unit, Common common, Rare) {
    Entry e = op(name, unit, common);
    e.run = [](Wave& w, const Instruction& in) -> Step {
        constexpr Handler usual = op({}, Unit::valu, Common{}).run, exceptional = slow_op({}, Unit::valu, Rare{}).run;
        return (w.vcc() & w.exec()) == 0 ? usual(w, in) : exceptional(w, in);
    };
    return e;
}

/// An instruction with its own handler; the lambda takes (Wave&, const Instruction&) and returns what happens next.
template <class F>
constexpr Entry special(std::string_view name, Unit unit, int destinations, std::initializer_list<Type> sources, F) {
    Entry e;
    e.name = name;
    e.unit = unit;
    e.run = [](Wave& w, const Instruction& in) -> Step { return F{}(w, in); };
    e.destinations = static_cast<u8>(destinations);
    e.sources = static_cast<u8>(sources.size());
    std::size_t k = 0;
    for (const Type t : sources) e.source[k++] = t;
    return e;
}

}  // namespace hipscope::HIPSCOPE_ISA
