// The operand layer: turns a lambda on the values of one lane into a handler for a whole wave.
//
// In: a captureless lambda whose parameter types say what the operands are (float, i32, f16, bool = lane mask...).
// Out: a table Entry. Fetching, broadcasting, modifiers, DPP, SDWA, op_sel, the execution mask and write-back are
// done here, once; a row of an instruction table is only the arithmetic.
#pragma once

#include <cstddef>
#include <string_view>
#include <tuple>
#include <utility>

#include "core/wave.hpp"
#include "isa/entry.hpp"
#include "isa/mode_rules.hpp"
#include "isa/number.hpp"

#if defined(__SSE2__)
#include <immintrin.h>
#endif

#if defined(__clang__)
#define HIPSCOPE_INDEPENDENT _Pragma("clang loop vectorize(assume_safety)")
#else
#define HIPSCOPE_INDEPENDENT _Pragma("GCC ivdep")
#endif
#define HIPSCOPE_EVERY_LANE HIPSCOPE_INDEPENDENT for (int i = 0; i < kLanes; ++i)

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
#if defined(__AVX512F__)
    for (u32 i = 0; i < 4; ++i) _mm512_storeu_si512(row + 16 * i, _mm512_maskz_set1_epi32(static_cast<__mmask16>(mask >> (16U * i)), -1));
#else
    const u32 half[2] = {static_cast<u32>(mask), static_cast<u32>(mask >> 32U)};
    for (int h = 0; h < 2; ++h) {
        for (u32 i = 0; i < 32; ++i) row[h * 32 + static_cast<int>(i)] = 0U - ((half[h] >> i) & 1U);
    }
#endif
}

/// Bit i is set when row[i] is ~0 (rows hold 0 or ~0 and are aligned to a cache line).
HIPSCOPE_INLINE u64 collect_mask(const u32* row) {
    u64 mask = 0;
#if defined(__AVX512F__) && defined(__AVX512DQ__)
    for (u32 i = 0; i < 4; ++i) mask |= u64{_mm512_movepi32_mask(_mm512_load_si512(row + 16 * i))} << (16U * i);
#elif defined(__SSE2__)
    for (u32 i = 0; i < 4; ++i) {
        const auto* p = reinterpret_cast<const __m128i*>(row + 16 * i);
        const __m128i words0 = _mm_packs_epi32(_mm_load_si128(p), _mm_load_si128(p + 1));
        const __m128i words1 = _mm_packs_epi32(_mm_load_si128(p + 2), _mm_load_si128(p + 3));
        mask |= u64{static_cast<u32>(_mm_movemask_epi8(_mm_packs_epi16(words0, words1)))} << (16U * i);
    }
#else
    for (u32 i = 0; i < 64; ++i) mask |= u64{row[i] & 1U} << i;
#endif
    return mask;
}

/// Copies the lanes of `mask` from `from` to `to`.
HIPSCOPE_INLINE void blend(u32* to, const u32* from, u64 mask) {
#if defined(__AVX512F__)
    // Whole stores: what is stored under a mask is not handed on to a load that follows soon.
    for (u32 i = 0; i < 4; ++i) {
        const __m512i kept = _mm512_loadu_si512(to + 16 * i), taken = _mm512_loadu_si512(from + 16 * i);
        _mm512_storeu_si512(to + 16 * i, _mm512_mask_mov_epi32(kept, static_cast<__mmask16>(mask >> (16U * i)), taken));
    }
#else
    const u32 half[2] = {static_cast<u32>(mask), static_cast<u32>(mask >> 32U)};
    for (int h = 0; h < 2; ++h) {
        for (u32 i = 0; i < 32; ++i) {
            const u32 keep = ((half[h] >> i) & 1U) - 1U;
            const int lane = h * 32 + static_cast<int>(i);
            to[lane] = (to[lane] & keep) | (from[lane] & ~keep);
        }
    }
#endif
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

/// Two neighbouring dwords of a row as one value, and 64-bit lanes made of them: those of even and of odd number. A loop
/// over such pairs needs shifts and masks only, where one over lanes would have to shuffle low and high dwords together.
using Pair [[gnu::may_alias]] = u64;
inline constexpr Pair even_dword = 0xffffffffU;

template <class T>
inline constexpr bool in_pairs = std::is_same_v<T, u64> || std::is_same_v<T, i64> || std::is_same_v<T, f64> || std::is_same_v<T, u32> ||
                                 std::is_same_v<T, i32>;
/// A source that is the same for all lanes.
template <class T>
struct Same {
    T value;
};
template <class T>
HIPSCOPE_INLINE T lane(Row r, int i) { return Lane<T>::load(r, i); }
template <class T>
HIPSCOPE_INLINE T lane(Same<T> s, int) { return s.value; }

template <class T>
HIPSCOPE_INLINE T pair_lane(Same<T> s, int, bool) { return s.value; }
template <class T>
HIPSCOPE_INLINE T pair_lane(Row r, int j, bool odd) {
    const Pair lo = reinterpret_cast<const Pair*>(r.lo)[j];
    if constexpr (Lane<T>::dwords == 1) return bits<T>(static_cast<u32>(odd ? lo >> 32U : lo));
    else {
        const Pair hi = reinterpret_cast<const Pair*>(r.hi)[j];
        return bits<T>(u64{odd ? lo >> 32U | (hi & ~even_dword) : (lo & even_dword) | hi << 32U});
    }
}
template <int lanes = kLanes, class F, class R, class... A, class... Source, std::size_t... K>
HIPSCOPE_INLINE void each_pair(F f, Target target, std::index_sequence<K...>, const std::tuple<Source...>& sources, std::tuple<A...>*, R*) {
    const std::tuple<Source...> r = sources;
    auto *lo = reinterpret_cast<Pair*>(target.lo), *hi = reinterpret_cast<Pair*>(target.hi), *mask = reinterpret_cast<Pair*>(target.mask);
    HIPSCOPE_INDEPENDENT for (int j = 0; j < lanes / 2; ++j) {
        const R even = f(pair_lane<A>(std::get<K>(r), j, false)...), odd = f(pair_lane<A>(std::get<K>(r), j, true)...);
        if constexpr (std::is_same_v<R, bool>) {
            mask[j] = ((0U - static_cast<Pair>(even)) & even_dword) | ((0U - static_cast<Pair>(odd)) & ~even_dword);
        } else {
            const u64 first = bits<u64>(even), second = bits<u64>(odd);
            lo[j] = (first & even_dword) | second << 32U;
            hi[j] = first >> 32U | (second & ~even_dword);
        }
    }
}

/// `sources`: for each operand its Row or, when all lanes have the same, its Same. `lanes`: how many, from the first on.
template <int lanes = kLanes, class F, class R, class... A, class... Source, std::size_t... K>
HIPSCOPE_INLINE void each_lane(F f, Target target, std::index_sequence<K...> k, const std::tuple<Source...>& sources, std::tuple<A...>* a, R* r) {
    constexpr bool wide_result = in_pairs<R> && Lane<R>::dwords == 2, wide_operand = ((Lane<A>::dwords == 2) || ...);
    if constexpr ((in_pairs<A> && ...) && (wide_result || (std::is_same_v<R, bool> && wide_operand))) {
        each_pair<lanes>(f, target, k, sources, a, r);
    } else {
        const std::tuple<Source...> source = sources;
        HIPSCOPE_INDEPENDENT for (int i = 0; i < lanes; ++i) Lane<R>::store(target, i, f(lane<A>(std::get<K>(source), i)...));
    }
}
template <class F, class R, class... A, std::size_t... K>
HIPSCOPE_INLINE void active_lanes(F f, Target target, u64 active, std::index_sequence<K...>, const std::tuple<decltype((void)K, Row{})...>& rows, std::tuple<A...>*, R*) {
    for (u64 left = active; left != 0; left &= left - 1) {
        const int i = std::countr_zero(left);
        Lane<R>::store(target, i, f(Lane<A>::load(std::get<K>(rows), i)...));
    }
}

template <class T>
inline constexpr bool is_float = std::is_floating_point_v<T> || std::is_same_v<T, f16> || std::is_same_v<T, f32x2> ||
                                 std::is_same_v<T, f16x2> || std::is_same_v<T, mixed>;

template <class T>
inline constexpr bool is_wide = std::is_same_v<T, f64> || std::is_same_v<T, f16> || std::is_same_v<T, f16x2>;
/// Whether MODE's fields for f64 and f16 say what becomes of the result.
template <class R, class... A>
inline constexpr bool wide_result = is_float<R> ? is_wide<R> : (is_wide<A> || ...);

/// Stops the wave: fills Wave::fault. Returns Step::fault.
Step fault(Wave& wave, FaultKind kind, u64 address, u32 bytes, int lane, bool write);

/// The handler made of lambda F. `Scalarly`: lane by lane over active lanes only (libm calls, data-dependent loops).
template <class F, bool Scalarly, class R, class... A>
struct LaneOp {
    /// Not inlined into the handlers that leave their rare cases to it: it is many times their size.
    [[gnu::noinline]] static Step run(Wave& w, const Instruction& in) { return apply<true>(F{}, w, in, std::index_sequence_for<A...>{}); }

    /// `on_host`: the host works as MODE says meanwhile.
    template <bool on_host, std::size_t... K>
    HIPSCOPE_INLINE static Step apply(F f, Wave& w, const Instruction& in, std::index_sequence<K...> k) {
        alignas(64) u32 buffer[sizeof...(A)][2][kLanes];
        alignas(64) RowBuffer out;
        alignas(64) u32 mask[kLanes];
        u64 active = w.exec();
        const std::tuple<decltype((void)K, Row{})...> rows{fetch<A>(w, in, static_cast<int>(K), buffer[K], active)...};
        const bool direct = in.simple && active == ~u64{0};
        const Operand& d = in.destination[0];
        Target target{out[0], out[1], mask};
        if constexpr (Lane<R>::dwords != 0) {
            if (direct) target = {w.vgpr[d.index], w.vgpr[d.index + 1], mask};
        }
        {
            const ModeGuard guard = ModeGuard::when(on_host && (is_float<R> || ... || is_float<A>), (is_wide<A> || ...), wide_result<R, A...>, w.mode);
            if constexpr (Scalarly) {
                if constexpr (Lane<R>::masks) for (u32& m : mask) m = 0;
                active_lanes(f, target, active, k, rows, static_cast<std::tuple<A...>*>(nullptr), static_cast<R*>(nullptr));
            } else {
                each_lane(f, target, k, rows, static_cast<std::tuple<A...>*>(nullptr), static_cast<R*>(nullptr));
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

template <class F, bool Scalarly, class R, class... A>
constexpr Entry lane_entry(std::string_view name, Unit unit) {
    Entry e;
    e.name = name;
    e.unit = unit;
    e.run = &LaneOp<F, Scalarly, R, A...>::run;
    e.destinations = (Lane<R>::dwords != 0 ? 1 : 0) + (Lane<R>::masks ? 1 : 0);
    e.sources = sizeof...(A);
    e.float_result = is_float<R>;
    e.mask_result = Lane<R>::masks && Lane<R>::dwords == 0;
    std::size_t k = 0;
    ((e.source[k++] = Lane<A>::type), ...);
    return e;
}

template <bool Scalarly, class F, class R, class... A>
constexpr Entry entry_of(std::string_view name, Unit unit, R (F::*)(A...) const) { return lane_entry<F, Scalarly, R, A...>(name, unit); }

/// A vector instruction: the lambda is applied to all 64 lanes in a vectorized loop.
template <class F>
constexpr Entry op(std::string_view name, Unit unit, F) { return entry_of<false>(name, unit, &F::operator()); }
/// The same, lane by lane and only where EXEC is set.
template <class F>
constexpr Entry slow_op(std::string_view name, Unit unit, F) { return entry_of<true>(name, unit, &F::operator()); }

/// A lambda on the rules of MODE and the values of a lane, in waves of the usual MODE and in others.
template <class F, class R, class... A>
struct ByUsualRules {
    HIPSCOPE_INLINE R operator()(A... a) const { return F{}(UsualMode{}, a...); }
};
template <class Rules, class F, class R, class... A>
struct ByOtherRules {
    Rules rules;
    HIPSCOPE_INLINE R operator()(A... a) const { return rules.result(F{}(rules, rules.operand(a)...)); }
};
template <class F, bool Scalarly, class R, class... A>
struct ModeOp {
    using Usual = ByUsualRules<F, R, A...>;
    static constexpr std::index_sequence_for<A...> operands{};

    static Step run(Wave& w, const Instruction& in) {
        if (!is_usual(w.mode)) [[unlikely]] return is_usual_but_for_denormals(w.mode) ? by_rules<FlushingMode>(w, in) : by_rules<OtherMode>(w, in);
        return LaneOp<Usual, Scalarly, R, A...>::template apply<false>(Usual{}, w, in, operands);
    }
    template <class Rules>
    [[gnu::noinline]] static Step by_rules(Wave& w, const Instruction& in) {
        using Other = ByOtherRules<Rules, F, R, A...>;
        return LaneOp<Other, Scalarly, R, A...>::template apply<false>(Other{Rules(w.mode)}, w, in, operands);
    }
};
template <bool Scalarly, class F, class R, class... A>
constexpr Entry entry_by_mode(std::string_view name, Unit unit, R (F::*)(UsualMode, A...) const) {
    Entry e = lane_entry<ByUsualRules<F, R, A...>, Scalarly, R, A...>(name, unit);
    e.run = &ModeOp<F, Scalarly, R, A...>::run;
    return e;
}
/// As op() and slow_op(), for instructions that MODE changes in more than the host's rounding: the lambda's first parameter
/// is UsualMode, FlushingMode or OtherMode. Denormals are flushed around it as MODE says.
template <class F>
constexpr Entry mode_op(std::string_view name, Unit unit, F) { return entry_by_mode<false>(name, unit, &F::template operator()<UsualMode>); }
template <class F>
constexpr Entry slow_mode_op(std::string_view name, Unit unit, F) { return entry_by_mode<true>(name, unit, &F::template operator()<UsualMode>); }

/// As op(), for instructions that ignore MODE.
template <class F, class R, class... A>
constexpr Entry entry_without_mode(std::string_view name, Unit unit, R (F::*)(A...) const) {
    Entry e = lane_entry<F, false, R, A...>(name, unit);
    e.run = [](Wave& w, const Instruction& in) -> Step {
        return LaneOp<F, false, R, A...>::template apply<false>(F{}, w, in, std::index_sequence_for<A...>{});
    };
    return e;
}
template <class F>
constexpr Entry fixed_op(std::string_view name, Unit unit, F) { return entry_without_mode(name, unit, &F::operator()); }

/// A vector instruction with a vectorized form for waves of which no active lane has its VCC bit set, and another.
template <class Common, class Rare>
constexpr Entry op_unless_vcc(std::string_view name, Unit unit, Common common, Rare) {
    Entry e = op(name, unit, common);
    e.reads_vcc = true;
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
