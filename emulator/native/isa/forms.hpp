// Handlers for the operands that most instructions have: whole registers and constants, nothing to do before use.
//
// In: the lambdas of lanes.hpp. Out: a table Entry with one more handler for each choice of operands that are the same for
// all lanes, so that these are neither spread over a row nor looked at again; the decoder takes the one that fits.
#pragma once

#include <cstring>

#include "isa/lanes.hpp"

namespace hipscope::HIPSCOPE_ISA {

/// What a float lambda does about NaNs: the rule of the vector ALU, or nothing yet.
struct GpuNan {
    template <class T, class... Operands>
    HIPSCOPE_INLINE static T of(T result, Operands... operands) { return with_gpu_nan<T>(result, operands...); }
};
struct AnyNan {
    template <class T, class... Operands>
    HIPSCOPE_INLINE static T of(T result, Operands...) { return result; }
};
template <class F, class Nan>
struct WithNan {
    template <class... A>
    HIPSCOPE_INLINE auto operator()(A... a) const { return F{}.template operator()<Nan>(a...); }
};

/// A row of floats of which each loses its sign, or changes it.
template <class T>
struct SignedRow {
    using Bits = std::conditional_t<sizeof(T) == 8, u64, u32>;
    static constexpr Bits sign = Bits{1} << (sizeof(T) * 8 - 1);
    Row row;
    Bits keep, flip;

    SignedRow(Row of, const Operand& o) : row(of), keep(o.absolute ? ~sign : ~Bits{0}), flip(o.negate ? sign : 0) {}
    HIPSCOPE_INLINE T of(T value) const { return bits<T>((bits<Bits>(value) & keep) ^ flip); }
};
template <class T>
HIPSCOPE_INLINE T lane(const SignedRow<T>& r, int i) { return r.of(Lane<T>::load(r.row, i)); }
template <class T>
HIPSCOPE_INLINE T pair_lane(const SignedRow<T>& r, int j, bool odd) { return r.of(pair_lane<T>(r.row, j, odd)); }

template <bool uniform, bool signs, class T>
HIPSCOPE_INLINE auto plain_source(const Wave& w, const Operand& o, RowBuffer& buffer) {
    if constexpr (Lane<T>::masks) {
        expand_mask(scalar64(w, o), buffer[0]);
        return Row{buffer[0], nullptr};
    } else if constexpr (!uniform) {
        const Row row{w.vgpr[o.index], w.vgpr[o.index + 1]};
        if constexpr (signs) return SignedRow<T>(row, o);
        else return row;
    } else {
        T value;
        if constexpr (Lane<T>::dwords == 2) value = bits<T>(o.kind == OperandKind::sgpr ? w.s64(o.index) : o.literal);
        else value = bits<T>(o.kind == OperandKind::sgpr ? w.sgpr[o.index] : static_cast<u32>(o.literal));
        if constexpr (signs) return Same<T>{SignedRow<T>({}, o).of(value)};
        else return Same<T>{value};
    }
}

/// True when the instruction writes registers of a source.
template <bool uniform, class R, class T>
HIPSCOPE_INLINE bool overwrites(const Instruction& in, const Operand& source) {
    const int distance = int{in.destination[0].index} - int{source.index};
    return !uniform && !Lane<T>::masks && distance < Lane<T>::dwords && -distance < Lane<R>::dwords;
}

/// True when a lane may hold a NaN: exact for f32, for f64 an infinity counts as well.
template <class T>
HIPSCOPE_INLINE bool may_hold_nan(Target t) {
    const u32* row = Lane<T>::dwords == 2 ? t.hi : t.lo;
    constexpr u32 magnitude = 0x7fffffffU, largest = Lane<T>::dwords == 2 ? 0x7fefffffU : 0x7f800000U;
#if defined(__AVX512F__)
    u32 found = 0;
    for (u32 i = 0; i < 4; ++i) {
        const __m512i value = _mm512_and_si512(_mm512_loadu_si512(row + 16 * i), _mm512_set1_epi32(static_cast<int>(magnitude)));
        found |= _mm512_cmpgt_epu32_mask(value, _mm512_set1_epi32(static_cast<int>(largest)));
    }
    return found != 0;
#else
    u32 most = 0;
    for (int i = 0; i < kLanes; ++i) most = (row[i] & magnitude) > most ? row[i] & magnitude : most;
    return most > largest;
#endif
}

/// Bit k of `uniform`: source k is an SGPR or a constant. `signs`: sources may be negated or absolute. `general` does the same for all operands, and for NaNs when
/// `F` leaves them open: the rule costs more than the arithmetic, so it is applied only where there are any.
template <class F, Handler general, bool open_nans, unsigned uniform, bool signs, class R, class... A>
struct PlainOp {
    static Step run(Wave& w, const Instruction& in) { return apply(w, in, std::index_sequence_for<A...>{}); }

    template <std::size_t... K>
    HIPSCOPE_INLINE static Step apply(Wave& w, const Instruction& in, std::index_sequence<K...> k) {
        alignas(64) RowBuffer buffer[sizeof...(A)];
        alignas(64) RowBuffer out;
        alignas(64) u32 mask[kLanes];
        const u64 active = w.exec();
        const std::tuple sources{plain_source<((uniform >> K) & 1U) != 0, signs, A>(w, in.source[K], buffer[K])...};
        // The general handler needs the sources as they were.
        const bool direct = active == ~u64{0} && !(open_nans && (overwrites<((uniform >> K) & 1U) != 0, R, A>(in, in.source[K]) || ...));
        Target target{out[0], out[1], mask};
        Target result = target;
        if constexpr (Lane<R>::dwords != 0) result = {w.vgpr[in.destination[0].index], w.vgpr[in.destination[0].index + 1], mask};
        if (direct) target = result;
        {
            const ModeGuard guard = ModeGuard::when((is_float<A> || ...), (is_wide<A> || ...), w.mode);
            each_lane<F>(target, k, sources, static_cast<std::tuple<A...>*>(nullptr), static_cast<R*>(nullptr));
        }
        if constexpr (open_nans) {
            if (may_hold_nan<R>(target)) [[unlikely]] return general(w, in);
        }
        if constexpr (Lane<R>::dwords != 0) {
            if (!direct) {
                blend(result.lo, out[0], active);
                if constexpr (Lane<R>::dwords == 2) blend(result.hi, out[1], active);
            }
        }
        if constexpr (Lane<R>::masks) write_mask(w, in, in.destination[Lane<R>::dwords != 0 ? 1 : 0], mask, active, Lane<R>::dwords == 0);
        return Step::next;
    }
};

template <class F, Handler general, bool open_nans, class R, class... A, std::size_t... Uniform>
constexpr void add_forms(Entry& e, std::index_sequence<Uniform...>) {
    // A lane mask is no choice: its form is that of a register.
    constexpr unsigned masks = [] {
        unsigned found = 0, bit = 1;
        ((found |= Lane<A>::masks ? bit : 0U, bit <<= 1U), ...);
        return found;
    }();
    ((e.forms[Uniform] = (Uniform & masks) == 0 ? &PlainOp<F, general, open_nans, Uniform & ~masks, false, R, A...>::run : nullptr), ...);
    if constexpr (open_nans) ((e.forms[isa::signed_forms + Uniform] = &PlainOp<F, general, open_nans, Uniform, true, R, A...>::run), ...);
}
template <class F, class R, class... A>
constexpr Entry entry_with_forms(std::string_view name, Unit unit, R (F::*)(A...) const) {
    Entry e = op(name, unit, F{});
    add_forms<F, &LaneOp<F, false, R, A...>::run, false, R, A...>(e, std::make_index_sequence<1U << sizeof...(A)>{});
    return e;
}
template <class F, class R, class... A>
constexpr Entry number_with_forms(std::string_view name, Unit unit, R (F::*)(A...) const) {
    using Exact = WithNan<F, GpuNan>;
    Entry e = lane_entry<Exact, false, R, A...>(name, unit);
    add_forms<WithNan<F, AnyNan>, &LaneOp<Exact, false, R, A...>::run, true, R, A...>(e, std::make_index_sequence<1U << sizeof...(A)>{});
    return e;
}

/// As op(), for instructions that most kernels have.
template <class F>
constexpr Entry common_op(std::string_view name, Unit unit, F) { return entry_with_forms(name, unit, &F::operator()); }
/// The same for arithmetic on f32 or f64: the lambda is a template on the rule for NaNs and ends in Nan::of(result, operands...).
template <class F>
constexpr Entry number_op(std::string_view name, Unit unit, F) { return number_with_forms(name, unit, &F::template operator()<GpuNan>); }

}  // namespace hipscope::HIPSCOPE_ISA
