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
/// Which NaN operand the rule takes before the others.
enum class NanOrder : u8 { first_operand, second_operand };
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

/// Two floats of which op_sel and op_sel_hi say which dword each comes from.
template <bool uniform>
HIPSCOPE_INLINE auto packed_source(const Wave& w, const Instruction& in, std::size_t k) {
    const Operand& o = in.source[k];
    const u32 low = (in.modifiers.op_sel >> k) & 1U, high = (in.modifiers.op_sel_hi >> k) & 1U;
    if constexpr (!uniform) {
        return Row{w.vgpr[o.index + low], w.vgpr[o.index + high]};
    } else {
        const u64 value = o.kind == OperandKind::sgpr ? w.s64(o.index) : o.literal;
        return Same<f32x2>{{bits<f32>(static_cast<u32>(value >> (32U * low))), bits<f32>(static_cast<u32>(value >> (32U * high)))}};
    }
}

template <bool uniform, bool signs, class T>
HIPSCOPE_INLINE auto plain_source(const Wave& w, const Instruction& in, std::size_t k, RowBuffer& buffer) {
    const Operand& o = in.source[k];
    if constexpr (std::is_same_v<T, f32x2>) {
        return packed_source<uniform>(w, in, k);
    } else if constexpr (Lane<T>::masks) {
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
HIPSCOPE_INLINE bool exceeds(const u32* row, u32 largest) {
    u32 most = 0;
    for (int i = 0; i < kLanes; ++i) most = (row[i] & 0x7fffffffU) > most ? row[i] & 0x7fffffffU : most;
    return most > largest;
}
template <class T>
HIPSCOPE_INLINE bool may_hold_nan(Target t) {
    if constexpr (std::is_same_v<T, f32x2>) return exceeds(t.lo, 0x7f800000U) || exceeds(t.hi, 0x7f800000U);
    else if constexpr (Lane<T>::dwords == 2) return exceeds(t.hi, 0x7fefffffU);
    else return exceeds(t.lo, 0x7f800000U);
}

#if defined(__AVX512F__)
/// The results of a wave in host registers: nothing is stored before it is known that they are right, and lanes that are
/// switched off cost one blend.
template <class R>
struct Results {
    static constexpr int parts = 4, lanes = kLanes / parts;
    __m512i lo[parts], hi[parts];

    template <class F, class... A, class Sources, std::size_t... K>
    HIPSCOPE_INLINE void compute(F f, std::index_sequence<K...> k, const Sources& sources, std::tuple<A...>* a) {
#pragma GCC unroll 4
        for (int part = 0; part < parts; ++part) {
            alignas(64) u32 low[lanes], high[lanes];
            each_lane<lanes>(f, Target{low, high, nullptr}, k, std::tuple{from_lane(std::get<K>(sources), part * lanes)...}, a, static_cast<R*>(nullptr));
            lo[part] = _mm512_load_si512(low);
            if constexpr (Lane<R>::dwords == 2) hi[part] = _mm512_load_si512(high);
        }
    }
    [[nodiscard]] HIPSCOPE_INLINE bool may_hold_nan() const {
        u32 found = 0;
        if constexpr (std::is_same_v<R, f64>) {
#pragma GCC unroll 4
            for (int part = 0; part < parts; ++part) {
                const __m512i magnitude = _mm512_and_si512(hi[part], _mm512_set1_epi32(0x7fffffff));
                found |= _mm512_cmpgt_epu32_mask(magnitude, _mm512_set1_epi32(0x7fefffff));
            }
        } else {
#pragma GCC unroll 4
            for (int part = 0; part < parts; part += 2) {
                found |= unordered_lanes(lo[part], lo[part + 1]);
                if constexpr (std::is_same_v<R, f32x2>) found |= unordered_lanes(hi[part], hi[part + 1]);
            }
        }
        return found != 0;
    }
    /// Put the NaN that the rule of the vector ALU gives where there is one. For f32 and f32x2.
    template <NanOrder order, class... Source>
    HIPSCOPE_INLINE void settle_nans(const Source&... source) {
#pragma GCC unroll 4
        for (int part = 0; part < parts; ++part) {
            settle_nan<order>(lo[part], dword<0>(source, part * lanes)...);
            if constexpr (Lane<R>::dwords == 2) settle_nan<order>(hi[part], dword<1>(source, part * lanes)...);
        }
    }
    HIPSCOPE_INLINE void store(Target to, u64 active) const {
#pragma GCC unroll 4
        for (int part = 0; part < parts; ++part) {
            store_part(to.lo + part * lanes, lo[part], active, part);
            if constexpr (Lane<R>::dwords == 2) store_part(to.hi + part * lanes, hi[part], active, part);
        }
    }

private:
    /// Where one of two is a NaN.
    HIPSCOPE_INLINE static __mmask16 unordered_lanes(__m512i a, __m512i b) {
        return _mm512_cmp_ps_mask(_mm512_castsi512_ps(a), _mm512_castsi512_ps(b), _CMP_UNORD_Q);
    }
    HIPSCOPE_INLINE static __mmask16 nan_lanes(__m512i value) { return unordered_lanes(value, value); }
    template <NanOrder order, class... Operand>
    HIPSCOPE_INLINE static void settle_nan(__m512i& result, Operand... operand) {
        __m512i nan = _mm512_set1_epi32(static_cast<int>(bits<u32>(default_nan<f32>)));
        const auto prefer = [&nan](__m512i value) { nan = _mm512_mask_or_epi32(nan, nan_lanes(value), value, _mm512_set1_epi32(0x00400000)); };
        if constexpr (order == NanOrder::first_operand) prefer_first(prefer, operand...);
        else (prefer(operand), ...);
        result = _mm512_mask_mov_epi32(result, nan_lanes(result), nan);
    }
    template <int which>
    HIPSCOPE_INLINE static __m512i dword(Row r, int first) { return _mm512_loadu_si512((which == 0 ? r.lo : r.hi) + first); }
    template <int which>
    HIPSCOPE_INLINE static __m512i dword(Same<f32> s, int) { return _mm512_castps_si512(_mm512_set1_ps(s.value)); }
    template <int which>
    HIPSCOPE_INLINE static __m512i dword(Same<f32x2> s, int) { return _mm512_castps_si512(_mm512_set1_ps(which == 0 ? s.value.lo : s.value.hi)); }
    template <int which>
    HIPSCOPE_INLINE static __m512i dword(const SignedRow<f32>& s, int first) {
        const __m512i value = _mm512_and_si512(dword<which>(s.row, first), _mm512_set1_epi32(static_cast<int>(s.keep)));
        return _mm512_xor_si512(value, _mm512_set1_epi32(static_cast<int>(s.flip)));
    }
    // Whole stores: what is stored under a mask is not handed on to a load that follows soon.
    HIPSCOPE_INLINE static void store_part(u32* to, __m512i value, u64 active, int part) {
        if (active != ~u64{0}) value = _mm512_mask_mov_epi32(_mm512_loadu_si512(to), static_cast<__mmask16>(active >> (lanes * part)), value);
        _mm512_storeu_si512(to, value);
    }
    HIPSCOPE_INLINE static Row from_lane(Row r, int first) { return {r.lo + first, r.hi == nullptr ? nullptr : r.hi + first}; }
    template <class T>
    HIPSCOPE_INLINE static Same<T> from_lane(Same<T> s, int) { return s; }
    template <class T>
    HIPSCOPE_INLINE static SignedRow<T> from_lane(SignedRow<T> s, int first) {
        s.row = from_lane(s.row, first);
        return s;
    }
};
#endif

/// Bit k of `uniform`: source k is an SGPR or a constant. `signs`: sources may be negated or absolute. `general` does the same for all operands, and for NaNs when
/// `F` leaves them open: the rule costs more than the arithmetic, so it is applied only where there are any.
template <class F, Handler general, bool open_nans, NanOrder order, unsigned uniform, bool signs, class R, class... A>
struct PlainOp {
    static Step run(Wave& w, const Instruction& in) { return apply(w, in, std::index_sequence_for<A...>{}); }

    template <std::size_t... K>
    HIPSCOPE_INLINE static Step apply(Wave& w, const Instruction& in, std::index_sequence<K...> k) {
        alignas(64) RowBuffer buffer[sizeof...(A)];
        const std::tuple sources{plain_source<((uniform >> K) & 1U) != 0, signs, A>(w, in, K, buffer[K])...};
#if defined(__AVX512F__)
        if constexpr (!Lane<R>::masks && !(Lane<A>::masks || ...)) return in_registers(w, in, k, sources);
        else
#endif
            return through_memory(w, in, k, sources);
    }

#if defined(__AVX512F__)
    template <class Sources, std::size_t... K>
    HIPSCOPE_INLINE static Step in_registers(Wave& w, const Instruction& in, std::index_sequence<K...> k, const Sources& sources) {
        constexpr bool floats = (is_float<A> || ...);
        if (!floats || (w.mode & mode_float_bits) == mode_float_default) [[likely]] {
            Results<R> results;
            results.compute(F{}, k, sources, static_cast<std::tuple<A...>*>(nullptr));
            if constexpr (open_nans) {
                if (results.may_hold_nan()) [[unlikely]] {
                    if constexpr (std::is_same_v<R, f64>) return general(w, in);
                    else results.template settle_nans<order>(std::get<K>(sources)...);
                }
            }
            const Operand& d = in.destination[0];
            results.store({w.vgpr[d.index], w.vgpr[d.index + 1], nullptr}, w.exec());
            return Step::next;
        }
        return general(w, in);
    }
#endif

    template <class Sources, std::size_t... K>
    HIPSCOPE_INLINE static Step through_memory(Wave& w, const Instruction& in, std::index_sequence<K...> k, const Sources& sources) {
        alignas(64) RowBuffer out;
        alignas(64) u32 mask[kLanes];
        const u64 active = w.exec();
        // The general handler needs the sources as they were.
        const bool direct = active == ~u64{0} && !(open_nans && (overwrites<((uniform >> K) & 1U) != 0, R, A>(in, in.source[K]) || ...));
        Target target{out[0], out[1], mask};
        Target result = target;
        if constexpr (Lane<R>::dwords != 0) result = {w.vgpr[in.destination[0].index], w.vgpr[in.destination[0].index + 1], mask};
        if (direct) target = result;
        {
            const ModeGuard guard = ModeGuard::when((is_float<A> || ...), (is_wide<A> || ...), wide_result<R, A...>, w.mode);
            each_lane(F{}, target, k, sources, static_cast<std::tuple<A...>*>(nullptr), static_cast<R*>(nullptr));
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

template <class F, Handler general, bool open_nans, NanOrder order, class R, class... A, std::size_t... Uniform>
constexpr void add_forms(Entry& e, std::index_sequence<Uniform...>) {
    // A lane mask is no choice: its form is that of a register.
    constexpr unsigned masks = [] {
        unsigned found = 0, bit = 1;
        ((found |= Lane<A>::masks ? bit : 0U, bit <<= 1U), ...);
        return found;
    }();
    ((e.forms[Uniform] = (Uniform & masks) == 0 ? &PlainOp<F, general, open_nans, order, Uniform & ~masks, false, R, A...>::run : nullptr), ...);
    if constexpr (open_nans && !std::is_same_v<R, f32x2>) ((e.forms[isa::signed_forms + Uniform] = &PlainOp<F, general, open_nans, order, Uniform, true, R, A...>::run), ...);
}
template <class F, class R, class... A>
constexpr Entry entry_with_forms(std::string_view name, Unit unit, R (F::*)(A...) const) {
    Entry e = op(name, unit, F{});
    add_forms<F, &LaneOp<F, false, R, A...>::run, false, NanOrder::first_operand, R, A...>(e, std::make_index_sequence<1U << sizeof...(A)>{});
    return e;
}
template <NanOrder order, class F, class R, class... A>
constexpr Entry number_with_forms(std::string_view name, Unit unit, R (F::*)(A...) const) {
    using Exact = WithNan<F, GpuNan>;
    Entry e = lane_entry<Exact, false, R, A...>(name, unit);
    add_forms<WithNan<F, AnyNan>, &LaneOp<Exact, false, R, A...>::run, true, order, R, A...>(e, std::make_index_sequence<1U << sizeof...(A)>{});
    return e;
}

/// As op(), for instructions that most kernels have.
template <class F>
constexpr Entry common_op(std::string_view name, Unit unit, F) { return entry_with_forms(name, unit, &F::operator()); }
/// The same for arithmetic on f32 or f64: the lambda is a template on the rule for NaNs and ends in Nan::of(result, operands...),
/// with its operands in `order`.
template <NanOrder order = NanOrder::first_operand, class F>
constexpr Entry number_op(std::string_view name, Unit unit, F) { return number_with_forms<order>(name, unit, &F::template operator()<GpuNan>); }

}  // namespace hipscope::HIPSCOPE_ISA
