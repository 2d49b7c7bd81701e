// Global, flat and buffer atomics (manual chapters 9 and 10). Lanes go one after the other; host threads that run other workgroups
// see each update as a whole.
#include <atomic>

#include "isa/buffer.hpp"
#include "isa/families.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

template <class T>
using Raw = std::conditional_t<sizeof(T) == 8, u64, u32>;

template <class F, class T>
HIPSCOPE_INLINE T exchange(std::atomic_ref<Raw<T>> cell, T data, T compare) {
    using R = Raw<T>;
    R old = cell.load(std::memory_order_relaxed);
    while (!cell.compare_exchange_weak(old, bits<R>(F{}(bits<T>(old), data, compare)), std::memory_order_acq_rel, std::memory_order_relaxed)) {
    }
    return bits<T>(old);
}

// Operations on integers whose order does not matter: a wave that wants nothing back may do them in any. `shared` is the shortest way to one of them.
template <class T>
struct Add {
    static constexpr bool any_order = true;
    T operator()(T m, T d, T) const { return m + d; }
    static T shared(std::atomic_ref<T> cell, T d) { return cell.fetch_add(d, std::memory_order_acq_rel); }
};
template <class T>
struct Subtract {
    static constexpr bool any_order = true;
    T operator()(T m, T d, T) const { return m - d; }
    static T shared(std::atomic_ref<T> cell, T d) { return cell.fetch_sub(d, std::memory_order_acq_rel); }
};
template <class T>
struct And {
    static constexpr bool any_order = true;
    T operator()(T m, T d, T) const { return m & d; }
    static T shared(std::atomic_ref<T> cell, T d) { return cell.fetch_and(d, std::memory_order_acq_rel); }
};
template <class T>
struct Or {
    static constexpr bool any_order = true;
    T operator()(T m, T d, T) const { return m | d; }
    static T shared(std::atomic_ref<T> cell, T d) { return cell.fetch_or(d, std::memory_order_acq_rel); }
};
template <class T>
struct Xor {
    static constexpr bool any_order = true;
    T operator()(T m, T d, T) const { return m ^ d; }
    static T shared(std::atomic_ref<T> cell, T d) { return cell.fetch_xor(d, std::memory_order_acq_rel); }
};
/// What is there already and stays is only read: most updates of a minimum change nothing.
template <class T, T (*choose)(T, T)>
struct Extreme {
    static constexpr bool any_order = true;
    T operator()(T m, T d, T) const { return choose(m, d); }
    static T shared(std::atomic_ref<Raw<T>> cell, T d) {
        const T there = bits<T>(cell.load(std::memory_order_acquire));
        return choose(there, d) == there ? there : exchange<Extreme, T>(cell, d, T{});
    }
};
template <class T>
using Minimum = Extreme<T, smaller<T>>;
template <class T>
using Maximum = Extreme<T, larger<T>>;

/// Applies F(memory, data, compare) atomically to device memory. Returns what was there.
template <class F, class T>
HIPSCOPE_INLINE T apply_shared(void* at, T data, T compare) {
    const std::atomic_ref<Raw<T>> cell(*static_cast<Raw<T>*>(at));
    if constexpr (requires { F::shared(cell, data); }) return F::shared(cell, data);
    else return exchange<F, T>(cell, data, compare);
}

/// Calls `apply(lane)` for the active lanes, those of one cache line of the host after each other: threads that count in the same few
/// lines then take a line from another core once per wave and not once per lane.
template <class Apply>
HIPSCOPE_INLINE void by_host_line(const u64* address, u64 active, Apply apply) {
    constexpr int kGroups = 16;
    u64 group[kGroups] = {};
    for (u64 left = active; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        group[address[lane] / 64 % kGroups] |= u64{1} << lane;
    }
    for (u64 left : group)
        for (; left != 0; left &= left - 1) apply(std::countr_zero(left));
}

/// Data operands follow the address: the value, and for compare-and-swap the expected value after it.
template <class F, class T, bool two, Segment segment>
Step update(Wave& w, const Instruction& in) {
    const u64 active = w.exec();
    u64* address = w.access.address[0];
    global_addresses(w, in, 2, address);
    for (u64 left = active; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        if ((address[lane] & (sizeof(T) - 1)) != 0) return fault(w, FaultKind::misaligned, address[lane], sizeof(T), lane, true);
    }
    void* pointer[kLanes];
    Space space = Space::global;
    if constexpr (segment == Segment::flat) {
        const Apertures a = apertures(address, active);
        if (!resolve_flat(w, address, active, sizeof(T), true, pointer)) return Step::fault;
        if (a.shared == active && active != 0) space = Space::lds;
        if (a.privately == active && active != 0) space = Space::scratch;
        if (space != Space::global) for (int i = 0; i < kLanes; ++i) address[i] &= aperture::limit;
    } else {
        const int bad = first_invalid(*w.memory, address, active, sizeof(T));
        if (bad >= 0) [[unlikely]] return fault(w, FaultKind::out_of_bounds, address[bad], sizeof(T), bad, true);
        for (int i = 0; i < kLanes; ++i) pointer[i] = reinterpret_cast<void*>(address[i]);
    }
    const bool returns = in.modifiers.sc0;
    record(w, space, returns ? AccessKind::atomic_return : AccessKind::atomic, sizeof(T), active);
    using Format = Dwords<sizeof(T) / 4>;
    const u32(*data)[kLanes] = w.vgpr + in.source[1].index;
    const u32(*second)[kLanes] = data + (two ? Format::dwords : 0);
    const auto apply = [&](int lane) {
        T value, expected;
        store_lane<Format>(&value, data, lane);
        store_lane<Format>(&expected, second, lane);
        return apply_shared<F, T>(pointer[lane], value, expected);
    };
    if constexpr (requires { F::any_order; }) {
        if (!returns) {
            by_host_line(address, active, apply);
            return Step::next;
        }
    }
    for (u64 left = active; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        const T old = apply(lane);
        if (returns) load_lane<Format>(&old, w.vgpr + in.destination[0].index, lane);
    }
    return Step::next;
}

/// Buffer atomics: the data register is also the destination. Out of range, nothing happens and zero is returned.
template <class F, class T, bool two>
Step update_buffer(Wave& w, const Instruction& in) {
    using Format = Dwords<sizeof(T) / 4>;
    u8* at[1][kLanes];
    if (!buffer_addresses(w, in, {in.source[1], in.source[2], in.source[3]}, {1, sizeof(T), true, true}, at)) return Step::fault;
    const bool returns = in.modifiers.sc0;
    record_buffer(w, returns ? AccessKind::atomic_return : AccessKind::atomic, sizeof(T));
    u32(*data)[kLanes] = w.vgpr + in.source[0].index;
    for (u64 left = w.exec(); left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        T old{};
        if (at[0][lane] != nullptr) {
            const u64 address = reinterpret_cast<u64>(at[0][lane]);
            if ((address & (sizeof(T) - 1)) != 0) return fault(w, FaultKind::misaligned, address, sizeof(T), lane, true);
            T value, expected;
            store_lane<Format>(&value, data, lane);
            store_lane<Format>(&expected, data + (two ? Format::dwords : 0), lane);
            old = apply_shared<F, T>(at[0][lane], value, expected);
        }
        if (returns) load_lane<Format>(&old, data, lane);
    }
    return Step::next;
}

template <bool two, class F, class T>
constexpr Entry buffer_row(std::string_view name, T (F::*)(T, T, T) const) {
    Entry e;
    e.name = name;
    e.unit = Unit::vmem_atomic;
    e.run = &update_buffer<F, T, two>;
    e.sources = 4;
    e.source = {Type::wide, Type::wide, Type::wide, Type::b32};
    return e;
}
template <class F>
constexpr Entry buffer_op(std::string_view name, F) { return buffer_row<false, F>(name, &F::operator()); }
template <class F>
constexpr Entry buffer_swap(std::string_view name, F) { return buffer_row<true, F>(name, &F::operator()); }

template <bool two, Segment segment, class F, class T>
constexpr Entry atomic_row(std::string_view name, T (F::*)(T, T, T) const) {
    Entry e;
    e.name = name;
    e.unit = Unit::vmem_atomic;
    e.run = &update<F, T, two, segment>;
    e.sources = 3;
    e.source = {Type::wide, Type::wide, Type::b64};
    e.returns = true;
    return e;
}
template <class F>
constexpr Entry global_op(std::string_view name, F) { return atomic_row<false, Segment::global, F>(name, &F::operator()); }
template <class F>
constexpr Entry flat_op(std::string_view name, F) { return atomic_row<false, Segment::flat, F>(name, &F::operator()); }
template <class F>
constexpr Entry global_swap(std::string_view name, F) { return atomic_row<true, Segment::global, F>(name, &F::operator()); }
template <class F>
constexpr Entry flat_swap(std::string_view name, F) { return atomic_row<true, Segment::flat, F>(name, &F::operator()); }

}  // namespace

Table vector_atomics() {
    static constexpr Entry rows[] = {
        global_op("global_atomic_swap", [](u32, u32 d, u32) -> u32 { return d; }),
        buffer_op("buffer_atomic_swap", [](u32, u32 d, u32) -> u32 { return d; }),
        flat_op("flat_atomic_swap", [](u32, u32 d, u32) -> u32 { return d; }),
        global_op("global_atomic_add", Add<u32>{}),
        buffer_op("buffer_atomic_add", Add<u32>{}),
        flat_op("flat_atomic_add", Add<u32>{}),
        global_op("global_atomic_sub", Subtract<u32>{}),
        buffer_op("buffer_atomic_sub", Subtract<u32>{}),
        flat_op("flat_atomic_sub", Subtract<u32>{}),
        global_op("global_atomic_smin", Minimum<i32>{}),
        buffer_op("buffer_atomic_smin", Minimum<i32>{}),
        flat_op("flat_atomic_smin", Minimum<i32>{}),
        global_op("global_atomic_umin", Minimum<u32>{}),
        buffer_op("buffer_atomic_umin", Minimum<u32>{}),
        flat_op("flat_atomic_umin", Minimum<u32>{}),
        global_op("global_atomic_smax", Maximum<i32>{}),
        buffer_op("buffer_atomic_smax", Maximum<i32>{}),
        flat_op("flat_atomic_smax", Maximum<i32>{}),
        global_op("global_atomic_umax", Maximum<u32>{}),
        buffer_op("buffer_atomic_umax", Maximum<u32>{}),
        flat_op("flat_atomic_umax", Maximum<u32>{}),
        global_op("global_atomic_and", And<u32>{}),
        buffer_op("buffer_atomic_and", And<u32>{}),
        flat_op("flat_atomic_and", And<u32>{}),
        global_op("global_atomic_or", Or<u32>{}),
        buffer_op("buffer_atomic_or", Or<u32>{}),
        flat_op("flat_atomic_or", Or<u32>{}),
        global_op("global_atomic_xor", Xor<u32>{}),
        buffer_op("buffer_atomic_xor", Xor<u32>{}),
        flat_op("flat_atomic_xor", Xor<u32>{}),
        global_op("global_atomic_inc", [](u32 m, u32 d, u32) -> u32 { return m >= d ? u32{0} : m + u32{1}; }),
        buffer_op("buffer_atomic_inc", [](u32 m, u32 d, u32) -> u32 { return m >= d ? u32{0} : m + u32{1}; }),
        flat_op("flat_atomic_inc", [](u32 m, u32 d, u32) -> u32 { return m >= d ? u32{0} : m + u32{1}; }),
        global_op("global_atomic_dec", [](u32 m, u32 d, u32) -> u32 { return m == 0 || m > d ? d : m - u32{1}; }),
        buffer_op("buffer_atomic_dec", [](u32 m, u32 d, u32) -> u32 { return m == 0 || m > d ? d : m - u32{1}; }),
        flat_op("flat_atomic_dec", [](u32 m, u32 d, u32) -> u32 { return m == 0 || m > d ? d : m - u32{1}; }),
        global_swap("global_atomic_cmpswap", [](u32 m, u32 d, u32 expected) -> u32 { return m == expected ? d : m; }),
        buffer_swap("buffer_atomic_cmpswap", [](u32 m, u32 d, u32 expected) -> u32 { return m == expected ? d : m; }),
        flat_swap("flat_atomic_cmpswap", [](u32 m, u32 d, u32 expected) -> u32 { return m == expected ? d : m; }),
        global_op("global_atomic_swap_x2", [](u64, u64 d, u64) -> u64 { return d; }),
        buffer_op("buffer_atomic_swap_x2", [](u64, u64 d, u64) -> u64 { return d; }),
        flat_op("flat_atomic_swap_x2", [](u64, u64 d, u64) -> u64 { return d; }),
        global_op("global_atomic_add_x2", Add<u64>{}),
        buffer_op("buffer_atomic_add_x2", Add<u64>{}),
        flat_op("flat_atomic_add_x2", Add<u64>{}),
        global_op("global_atomic_sub_x2", Subtract<u64>{}),
        buffer_op("buffer_atomic_sub_x2", Subtract<u64>{}),
        flat_op("flat_atomic_sub_x2", Subtract<u64>{}),
        global_op("global_atomic_smin_x2", Minimum<i64>{}),
        buffer_op("buffer_atomic_smin_x2", Minimum<i64>{}),
        flat_op("flat_atomic_smin_x2", Minimum<i64>{}),
        global_op("global_atomic_umin_x2", Minimum<u64>{}),
        buffer_op("buffer_atomic_umin_x2", Minimum<u64>{}),
        flat_op("flat_atomic_umin_x2", Minimum<u64>{}),
        global_op("global_atomic_smax_x2", Maximum<i64>{}),
        buffer_op("buffer_atomic_smax_x2", Maximum<i64>{}),
        flat_op("flat_atomic_smax_x2", Maximum<i64>{}),
        global_op("global_atomic_umax_x2", Maximum<u64>{}),
        buffer_op("buffer_atomic_umax_x2", Maximum<u64>{}),
        flat_op("flat_atomic_umax_x2", Maximum<u64>{}),
        global_op("global_atomic_and_x2", And<u64>{}),
        buffer_op("buffer_atomic_and_x2", And<u64>{}),
        flat_op("flat_atomic_and_x2", And<u64>{}),
        global_op("global_atomic_or_x2", Or<u64>{}),
        buffer_op("buffer_atomic_or_x2", Or<u64>{}),
        flat_op("flat_atomic_or_x2", Or<u64>{}),
        global_op("global_atomic_xor_x2", Xor<u64>{}),
        buffer_op("buffer_atomic_xor_x2", Xor<u64>{}),
        flat_op("flat_atomic_xor_x2", Xor<u64>{}),
        global_op("global_atomic_inc_x2", [](u64 m, u64 d, u64) -> u64 { return m >= d ? u64{0} : m + u64{1}; }),
        buffer_op("buffer_atomic_inc_x2", [](u64 m, u64 d, u64) -> u64 { return m >= d ? u64{0} : m + u64{1}; }),
        flat_op("flat_atomic_inc_x2", [](u64 m, u64 d, u64) -> u64 { return m >= d ? u64{0} : m + u64{1}; }),
        global_op("global_atomic_dec_x2", [](u64 m, u64 d, u64) -> u64 { return m == 0 || m > d ? d : m - u64{1}; }),
        buffer_op("buffer_atomic_dec_x2", [](u64 m, u64 d, u64) -> u64 { return m == 0 || m > d ? d : m - u64{1}; }),
        flat_op("flat_atomic_dec_x2", [](u64 m, u64 d, u64) -> u64 { return m == 0 || m > d ? d : m - u64{1}; }),
        global_swap("global_atomic_cmpswap_x2", [](u64 m, u64 d, u64 expected) -> u64 { return m == expected ? d : m; }),
        buffer_swap("buffer_atomic_cmpswap_x2", [](u64 m, u64 d, u64 expected) -> u64 { return m == expected ? d : m; }),
        flat_swap("flat_atomic_cmpswap_x2", [](u64 m, u64 d, u64 expected) -> u64 { return m == expected ? d : m; }),
        global_op("global_atomic_add_f32", [](f32 m, f32 d, f32) -> f32 { return add(m, d); }),
        buffer_op("buffer_atomic_add_f32", [](f32 m, f32 d, f32) -> f32 { return add(m, d); }),
        global_op("global_atomic_add_f64", [](f64 m, f64 d, f64) -> f64 { return add(m, d); }),
        buffer_op("buffer_atomic_add_f64", [](f64 m, f64 d, f64) -> f64 { return add(m, d); }),
        global_op("global_atomic_min_f64", [](f64 m, f64 d, f64) -> f64 { return min_number(m, d); }),
        buffer_op("buffer_atomic_min_f64", [](f64 m, f64 d, f64) -> f64 { return min_number(m, d); }),
        global_op("global_atomic_max_f64", [](f64 m, f64 d, f64) -> f64 { return max_number(m, d); }),
        buffer_op("buffer_atomic_max_f64", [](f64 m, f64 d, f64) -> f64 { return max_number(m, d); }),
        global_op("global_atomic_pk_add_f16", [](u32 m, u32 d, u32) -> u32 { return add_halves(m, d); }),
        buffer_op("buffer_atomic_pk_add_f16", [](u32 m, u32 d, u32) -> u32 { return add_halves(m, d); }),
        global_op("global_atomic_pk_add_bf16", [](u32 m, u32 d, u32) -> u32 { return add_bfloats(m, d); }),
        buffer_op("buffer_atomic_pk_add_bf16", [](u32 m, u32 d, u32) -> u32 { return add_bfloats(m, d); }),
        flat_op("flat_atomic_add_f32", [](f32 m, f32 d, f32) -> f32 { return add(m, d); }),
        flat_op("flat_atomic_add_f64", [](f64 m, f64 d, f64) -> f64 { return add(m, d); }),
        flat_op("flat_atomic_min_f64", [](f64 m, f64 d, f64) -> f64 { return min_number(m, d); }),
        flat_op("flat_atomic_max_f64", [](f64 m, f64 d, f64) -> f64 { return max_number(m, d); }),
        flat_op("flat_atomic_pk_add_f16", [](u32 m, u32 d, u32) -> u32 { return add_halves(m, d); }),
        flat_op("flat_atomic_pk_add_bf16", [](u32 m, u32 d, u32) -> u32 { return add_bfloats(m, d); }),
    };
    return rows;
}

}  // namespace hipscope::HIPSCOPE_ISA
