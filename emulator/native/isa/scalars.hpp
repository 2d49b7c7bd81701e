// The operand layer of the scalar ALU: a lambda on scalar values becomes a table row.
// A lambda may end in `bool& scc` (to read or set SCC) or in `Wave&` (EXEC and the rest of the state).
#pragma once

#include <type_traits>

#include "isa/lanes.hpp"

namespace hipscope::HIPSCOPE_ISA {

template <class T>
HIPSCOPE_INLINE T scalar_source(const Wave& w, const Operand& o) {
    if constexpr (sizeof(T) == 8) return static_cast<T>(scalar64(w, o));
    else return static_cast<T>(scalar32(w, o));
}

template <class R>
HIPSCOPE_INLINE void scalar_result(Wave& w, const Operand& o, R value) {
    if constexpr (sizeof(R) == 8) w.set_s64(o.index, static_cast<u64>(value));
    else w.sgpr[o.index] = static_cast<u32>(value);
}

struct NoState {};

template <class F, class State, class R, class... A>
struct ScalarOp {
    static Step run(Wave& w, const Instruction& in) { return apply(w, in, std::index_sequence_for<A...>{}); }
    template <std::size_t... K>
    HIPSCOPE_INLINE static Step apply(Wave& w, const Instruction& in, std::index_sequence<K...>) {
        const auto call = [&](auto... a) {
            if constexpr (std::is_same_v<State, bool&>) return F{}(a..., w.scc);
            else if constexpr (std::is_same_v<State, Wave&>) return F{}(a..., w);
            else return F{}(a...);
        };
        if constexpr (std::is_void_v<R>) call(scalar_source<A>(w, in.source[K])...);
        else scalar_result<R>(w, in.destination[0], call(scalar_source<A>(w, in.source[K])...));
        return Step::next;
    }
};

template <class T>
consteval Type scalar_type() {
    if constexpr (std::is_same_v<T, i64>) return Type::i64;
    else return sizeof(T) == 8 ? Type::b64 : Type::b32;
}

template <class F, class State, class R, class... A>
constexpr Entry scalar_entry(std::string_view name, Unit unit) {
    Entry e;
    e.name = name;
    e.unit = unit;
    e.run = &ScalarOp<F, State, R, A...>::run;
    e.destinations = std::is_void_v<R> ? 0 : 1;
    e.sources = sizeof...(A);
    std::size_t k = 0;
    ((e.source[k++] = scalar_type<A>()), ...);
    return e;
}

template <class F, class R, class A>
constexpr Entry scalar_deduce(std::string_view n, Unit u, R (F::*)(A) const) { return scalar_entry<F, NoState, R, A>(n, u); }
template <class F, class R, class A, class B>
constexpr Entry scalar_deduce(std::string_view n, Unit u, R (F::*)(A, B) const) {
    if constexpr (std::is_reference_v<B>) return scalar_entry<F, B, R, A>(n, u);
    else return scalar_entry<F, NoState, R, A, B>(n, u);
}
template <class F, class R, class A, class B, class C>
constexpr Entry scalar_deduce(std::string_view n, Unit u, R (F::*)(A, B, C) const) { return scalar_entry<F, C, R, A, B>(n, u); }

/// Offset of a scalar memory access: the immediate, and the SGPR that source `k` names if there is one.
inline u64 smem_offset(const Wave& w, const Instruction& in, int k) {
    const u64 immediate = static_cast<u64>(i64{in.modifiers.offset});
    return in.source[k].kind == OperandKind::none ? immediate : immediate + scalar32(w, in.source[k]);
}
/// Note a scalar memory access for counters and timing.
inline void record_scalar(Wave& w, AccessKind kind, u64 address, u32 bytes) {
    w.access.space = Space::scalar;
    w.access.kind = kind;
    w.access.bytes = static_cast<u8>(bytes);
    w.access.addresses = 1;
    w.access.run = w.access.teams = false;
    w.access.lanes = 1;
    w.access.address[0][0] = address;
}

/// A scalar instruction.
template <class F>
constexpr Entry sop(std::string_view name, F) { return scalar_deduce(name, Unit::salu, &F::operator()); }

}  // namespace hipscope::HIPSCOPE_ISA
