// LDS instructions (manual chapter 11): reads, writes, two-address forms, atomics.
#include "isa/families.hpp"
#include "isa/teams.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

/// Lane offsets into LDS. False: Wave::fault is set.
bool lds_addresses(Wave& w, const Instruction& in, u32 which, i32 offset, u32 bytes, u64 active, bool write) {
    const u32* row = w.vgpr[in.source[0].index];
    u64* address = w.access.address[which];
    u32 highest = 0;
    const u32 add = static_cast<u32>(offset);
    // The sum is 32 bits wide: compilers fold `base - lane * 4` into a negative register and a positive offset.
    for (int i = 0; i < kLanes; ++i) address[i] = row[i] + add;
    if (active == ~u64{0}) {
        for (int i = 0; i < kLanes; ++i) highest = row[i] + add > highest ? row[i] + add : highest;
        if (u64{highest} + bytes <= w.lds_bytes) return true;
    }
    for (u64 left = active; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        if (address[lane] + bytes > w.lds_bytes) {
            fault(w, FaultKind::out_of_bounds, address[lane], bytes, lane, write);
            return false;
        }
    }
    return true;
}

/// The usual case: all lanes are active, and evenly spaced in teams at least. Gives what take(teams, bases...) gives, with a base for
/// each offset, which the teams are relative to; or false when it is not so or the access must be looked at closer.
template <class Format, AccessKind kind, class Take, class... Offset>
HIPSCOPE_INLINE bool with_lds_teams(Wave& w, const Instruction& in, Take take, Offset... offset) {
    if (w.exec() != ~u64{0}) return false;
    const auto lowest = static_cast<u32>(std::min({offset...})), span = static_cast<u32>(std::max({offset...})) - lowest;
    return with_teams<Format>(w.vgpr[in.source[0].index], lowest, [=, &w](const auto& teams) {
        if (teams.template end<Format>() + span > w.lds_bytes) return false;
        if (w.observed) {
            record_teams<Format, Space::lds, kind>(w, teams, u64{static_cast<u32>(offset) - lowest}...);
            if (teams.template one_run<Format>()) {
                w.access.run = true;
                w.access.teams = false;
            }
        }
        take(teams, reinterpret_cast<u64>(w.lds) + (static_cast<u32>(offset) - lowest)...);
        return true;
    });
}

template <class Format>
HIPSCOPE_INLINE void load_lanes(const Wave& w, const u64* address, u64 active, u32 (*to)[kLanes]) {
    for (u64 left = active; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        load_lane<Format>(w.lds + address[lane], to, lane);
    }
}
template <class Format>
HIPSCOPE_INLINE void store_lanes(const Wave& w, const u64* address, u64 active, const u32 (*from)[kLanes]) {
    for (u64 left = active; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        store_lane<Format>(w.lds + address[lane], from, lane);
    }
}

/// Any lanes, one by one.
template <class Format>
[[gnu::noinline]] Step read_lanes(Wave& w, const Instruction& in) {
    const u64 active = w.exec();
    if (!lds_addresses(w, in, 0, in.modifiers.offset, Format::bytes, active, false)) return Step::fault;
    record(w, Space::lds, AccessKind::load, Format::bytes, active);
    load_lanes<Format>(w, w.access.address[0], active, w.vgpr + in.destination[0].index);
    return Step::next;
}
template <class Format>
Step read(Wave& w, const Instruction& in) {
    const auto load = [&w, &in](const auto& teams, u64 base) { load_teams<Format>(teams, base, w.vgpr + in.destination[0].index); };
    return with_lds_teams<Format, AccessKind::load>(w, in, load, in.modifiers.offset) ? Step::next : read_lanes<Format>(w, in);
}

template <class Format>
[[gnu::noinline]] Step write_lanes(Wave& w, const Instruction& in) {
    const u64 active = w.exec();
    if (!lds_addresses(w, in, 0, in.modifiers.offset, Format::bytes, active, true)) return Step::fault;
    record(w, Space::lds, AccessKind::store, Format::bytes, active);
    store_lanes<Format>(w, w.access.address[0], active, w.vgpr + in.source[1].index);
    return Step::next;
}
template <class Format>
Step write(Wave& w, const Instruction& in) {
    const auto store = [&w, &in](const auto& teams, u64 base) { store_teams<Format>(teams, base, w.vgpr + in.source[1].index); };
    return with_lds_teams<Format, AccessKind::store>(w, in, store, in.modifiers.offset) ? Step::next : write_lanes<Format>(w, in);
}

/// ds_read2*: two addresses, whose values follow each other in the destination.
template <class Format>
[[gnu::noinline]] Step read2_lanes(Wave& w, const Instruction& in) {
    const u64 active = w.exec();
    if (!lds_addresses(w, in, 0, in.modifiers.offset, Format::bytes, active, false)) return Step::fault;
    if (!lds_addresses(w, in, 1, in.modifiers.offset1, Format::bytes, active, false)) return Step::fault;
    record(w, Space::lds, AccessKind::load, Format::bytes, active, 2);
    u32(*to)[kLanes] = w.vgpr + in.destination[0].index;
    for (u32 n = 0; n < 2; ++n) load_lanes<Format>(w, w.access.address[n], active, to + n * Format::dwords);
    return Step::next;
}
template <class Format>
Step read2(Wave& w, const Instruction& in) {
    const auto load = [&w, &in](const auto& teams, u64 first, u64 second) {
        u32(*to)[kLanes] = w.vgpr + in.destination[0].index;
        load_teams<Format>(teams, first, to);
        load_teams<Format>(teams, second, to + Format::dwords);
    };
    const bool done = with_lds_teams<Format, AccessKind::load>(w, in, load, in.modifiers.offset, in.modifiers.offset1);
    return done ? Step::next : read2_lanes<Format>(w, in);
}

template <class Format>
Step write2(Wave& w, const Instruction& in) {
    const u64 active = w.exec();
    if (!lds_addresses(w, in, 0, in.modifiers.offset, Format::bytes, active, true)) return Step::fault;
    if (!lds_addresses(w, in, 1, in.modifiers.offset1, Format::bytes, active, true)) return Step::fault;
    record(w, Space::lds, AccessKind::store, Format::bytes, active, 2);
    const u32(*first)[kLanes] = w.vgpr + in.source[1].index;
    const u32(*second)[kLanes] = w.vgpr + in.source[2].index;
    for (u64 left = active; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        store_lane<Format>(w.lds + w.access.address[0][lane], first, lane);
        store_lane<Format>(w.lds + w.access.address[1][lane], second, lane);
    }
    return Step::next;
}

/// ds_wrxchg2*: two addresses exchange their values with two registers.
template <class Format>
Step exchange2(Wave& w, const Instruction& in) {
    const u64 active = w.exec();
    if (!lds_addresses(w, in, 0, in.modifiers.offset, Format::bytes, active, true)) return Step::fault;
    if (!lds_addresses(w, in, 1, in.modifiers.offset1, Format::bytes, active, true)) return Step::fault;
    record(w, Space::lds, AccessKind::atomic_return, Format::bytes, active, 2);
    u32(*to)[kLanes] = w.vgpr + in.destination[0].index;
    for (u64 left = active; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        u32 data[2][Format::dwords], old[2][Format::dwords];  // the destination may be one of the data registers
        for (int n = 0; n < 2; ++n) store_lane<Format>(data[n], w.vgpr + in.source[n + 1].index, lane);
        for (int n = 0; n < 2; ++n) {
            void* at = w.lds + w.access.address[n][lane];
            std::memcpy(old[n], at, sizeof old[n]);
            std::memcpy(at, data[n], sizeof data[n]);
            load_lane<Format>(old[n], to + n * Format::dwords, lane);
        }
    }
    return Step::next;
}

/// Read, modify, write: F(memory, data, second data) gives the new value. LDS belongs to one host thread at a time.
template <class F, class T, bool returns>
Step update(Wave& w, const Instruction& in) {
    const u64 active = w.exec();
    if (!lds_addresses(w, in, 0, in.modifiers.offset, sizeof(T), active, true)) return Step::fault;
    record(w, Space::lds, returns ? AccessKind::atomic_return : AccessKind::atomic, sizeof(T), active);
    using Format = Dwords<sizeof(T) / 4>;
    const u32(*data)[kLanes] = w.vgpr + in.source[1].index;
    const bool two = in.source[2].kind != OperandKind::none;
    const u32(*second)[kLanes] = two ? w.vgpr + in.source[2].index : data;
    for (u64 left = active; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        void* at = w.lds + w.access.address[0][lane];
        T old, a, b;
        std::memcpy(&old, at, sizeof old);
        store_lane<Format>(&a, data, lane);
        store_lane<Format>(&b, second, lane);
        const T now = F{}(old, a, b);
        std::memcpy(at, &now, sizeof now);
        if constexpr (returns) load_lane<Format>(&old, w.vgpr + in.destination[0].index, lane);
    }
    return Step::next;
}

/// ds_*_addtid: M0 + offset + 4 * lane.
template <bool writes>
Step by_lane(Wave& w, const Instruction& in) {
    const u64 active = w.exec();
    const u64 base = (w.sgpr[sreg::m0] & 0xffffU) + static_cast<u32>(in.modifiers.offset);
    for (u32 i = 0; i < kLanes; ++i) w.access.address[0][i] = base + 4U * i;
    record(w, Space::lds, writes ? AccessKind::store : AccessKind::load, 4, active);
    for (u64 left = active; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        void* at = lds_pointer(w, w.access.address[0][lane], 4);
        if (at == nullptr) return fault(w, FaultKind::out_of_bounds, w.access.address[0][lane], 4, lane, writes);
        if constexpr (writes) store_lane<Dwords<1>>(at, w.vgpr + in.source[0].index, lane);
        else load_lane<Dwords<1>>(at, w.vgpr + in.destination[0].index, lane);
    }
    return Step::next;
}

/// ds_append and ds_consume: one counter at M0 + offset moves by the number of active lanes; all get the old value.
template <bool grows>
Step count_lanes(Wave& w, const Instruction& in) {
    const u64 active = w.exec();
    const u64 address = (w.sgpr[sreg::m0] & 0xffffU) + static_cast<u32>(in.modifiers.offset);
    void* at = lds_pointer(w, address, 4);
    if (at == nullptr) return fault(w, FaultKind::out_of_bounds, address, 4, -1, true);
    const u32 count = static_cast<u32>(std::popcount(active));
    u32 old = 0;
    std::memcpy(&old, at, 4);
    const u32 now = grows ? old + count : old - count;
    std::memcpy(at, &now, 4);
    record(w, Space::lds, AccessKind::atomic_return, 4, active & (~active + 1));
    for (u64& a : w.access.address[0]) a = address;
    for (u64 left = active; left != 0; left &= left - 1) w.vgpr[in.destination[0].index][std::countr_zero(left)] = old;
    return Step::next;
}

/// ds_condxchg32: two dwords, each exchanged with its data's lower 31 bits where the data's top bit is set.
Step exchange_where_set(Wave& w, const Instruction& in) {
    const u64 active = w.exec();
    if (!lds_addresses(w, in, 0, in.modifiers.offset, 8, active, true)) return Step::fault;
    record(w, Space::lds, AccessKind::atomic_return, 8, active);
    for (u64 left = active; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        u64& address = w.access.address[0][lane];
        address &= ~u64{7};
        for (u32 n = 0; n < 2; ++n) {
            u8* at = w.lds + address + 4 * n;
            const u32 data = w.vgpr[in.source[1].index + n][lane];
            u32 old = 0;
            std::memcpy(&old, at, 4);
            const u32 now = (data >> 31U) != 0 ? data & 0x7fffffffU : old;
            std::memcpy(at, &now, 4);
            w.vgpr[in.destination[0].index + n][lane] = old;
        }
    }
    return Step::next;
}

constexpr Entry row(std::string_view name, Handler run, int destinations, int sources) {
    Entry e;
    e.name = name;
    e.unit = Unit::lds;
    e.run = run;
    e.destinations = static_cast<u8>(destinations);
    e.sources = static_cast<u8>(sources);
    e.source = {Type::b32, Type::wide, Type::wide};
    return e;
}
/// `stride`: bytes per unit of offset0/offset1.
constexpr Entry two(std::string_view name, Handler run, int destinations, int sources, u32 stride) { return row(name, run, destinations, sources).with(stride); }

template <class F, class T>
constexpr Entry atomic_row(std::string_view name, bool returns, int sources, T (F::*)(T, T, T) const) {
    return returns ? row(name, &update<F, T, true>, 1, sources) : row(name, &update<F, T, false>, 0, sources);
}
template <class F>
constexpr Entry atomic(std::string_view name, F) { return atomic_row<F>(name, false, 2, &F::operator()); }
template <class F>
constexpr Entry atomic_rtn(std::string_view name, F) { return atomic_row<F>(name, true, 2, &F::operator()); }
template <class F>
constexpr Entry compare_swap(std::string_view name, F) { return atomic_row<F>(name, false, 3, &F::operator()); }
template <class F>
constexpr Entry compare_swap_rtn(std::string_view name, F) { return atomic_row<F>(name, true, 3, &F::operator()); }

}  // namespace

Table lds() {
    static constexpr Entry rows[] = {
        row("ds_read_u8", &read<Part<u8, Half::replace>>, 1, 1),
        row("ds_read_i8", &read<Part<i8, Half::replace>>, 1, 1),
        row("ds_read_u16", &read<Part<u16, Half::replace>>, 1, 1),
        row("ds_read_i16", &read<Part<i16, Half::replace>>, 1, 1),
        row("ds_read_u8_d16", &read<Part<u8, Half::low>>, 1, 1),
        row("ds_read_u8_d16_hi", &read<Part<u8, Half::high>>, 1, 1),
        row("ds_read_i8_d16", &read<Part<i8, Half::low>>, 1, 1),
        row("ds_read_i8_d16_hi", &read<Part<i8, Half::high>>, 1, 1),
        row("ds_read_u16_d16", &read<Part<u16, Half::low>>, 1, 1),
        row("ds_read_u16_d16_hi", &read<Part<u16, Half::high>>, 1, 1),
        row("ds_read_b32", &read<Dwords<1>>, 1, 1),
        row("ds_read_b64", &read<Dwords<2>>, 1, 1),
        row("ds_read_b96", &read<Dwords<3>>, 1, 1),
        row("ds_read_b128", &read<Dwords<4>>, 1, 1),
        two("ds_read2_b32", &read2<Dwords<1>>, 1, 1, 4),
        two("ds_read2st64_b32", &read2<Dwords<1>>, 1, 1, 256),
        two("ds_read2_b64", &read2<Dwords<2>>, 1, 1, 8),
        two("ds_read2st64_b64", &read2<Dwords<2>>, 1, 1, 512),
        two("ds_wrxchg2_rtn_b32", &exchange2<Dwords<1>>, 1, 3, 4),
        two("ds_wrxchg2st64_rtn_b32", &exchange2<Dwords<1>>, 1, 3, 256),
        two("ds_wrxchg2_rtn_b64", &exchange2<Dwords<2>>, 1, 3, 8),
        two("ds_wrxchg2st64_rtn_b64", &exchange2<Dwords<2>>, 1, 3, 512),
        row("ds_read_addtid_b32", &by_lane<false>, 1, 0),
        row("ds_write_addtid_b32", &by_lane<true>, 0, 1),
        row("ds_append", &count_lanes<true>, 1, 0),
        row("ds_consume", &count_lanes<false>, 1, 0),
        row("ds_condxchg32_rtn_b64", &exchange_where_set, 1, 2),
        row("ds_write_b8", &write<Part<u8, Half::replace>>, 0, 2),
        row("ds_write_b8_d16_hi", &write<Part<u8, Half::high>>, 0, 2),
        row("ds_write_b16", &write<Part<u16, Half::replace>>, 0, 2),
        row("ds_write_b16_d16_hi", &write<Part<u16, Half::high>>, 0, 2),
        row("ds_write_b32", &write<Dwords<1>>, 0, 2),
        row("ds_write_b64", &write<Dwords<2>>, 0, 2),
        row("ds_write_b96", &write<Dwords<3>>, 0, 2),
        row("ds_write_b128", &write<Dwords<4>>, 0, 2),
        two("ds_write2_b32", &write2<Dwords<1>>, 0, 3, 4),
        two("ds_write2st64_b32", &write2<Dwords<1>>, 0, 3, 256),
        two("ds_write2_b64", &write2<Dwords<2>>, 0, 3, 8),
        two("ds_write2st64_b64", &write2<Dwords<2>>, 0, 3, 512),
        atomic("ds_add_u32", [](u32 m, u32 d, u32) -> u32 { return m + d; }),
        atomic_rtn("ds_add_rtn_u32", [](u32 m, u32 d, u32) -> u32 { return m + d; }),
        atomic("ds_sub_u32", [](u32 m, u32 d, u32) -> u32 { return m - d; }),
        atomic_rtn("ds_sub_rtn_u32", [](u32 m, u32 d, u32) -> u32 { return m - d; }),
        atomic("ds_rsub_u32", [](u32 m, u32 d, u32) -> u32 { return d - m; }),
        atomic_rtn("ds_rsub_rtn_u32", [](u32 m, u32 d, u32) -> u32 { return d - m; }),
        atomic("ds_inc_u32", [](u32 m, u32 d, u32) -> u32 { return m >= d ? u32{0} : m + u32{1}; }),
        atomic_rtn("ds_inc_rtn_u32", [](u32 m, u32 d, u32) -> u32 { return m >= d ? u32{0} : m + u32{1}; }),
        atomic("ds_dec_u32", [](u32 m, u32 d, u32) -> u32 { return m == 0 || m > d ? d : m - u32{1}; }),
        atomic_rtn("ds_dec_rtn_u32", [](u32 m, u32 d, u32) -> u32 { return m == 0 || m > d ? d : m - u32{1}; }),
        atomic("ds_min_i32", [](i32 m, i32 d, i32) -> i32 { return smaller(m, d); }),
        atomic_rtn("ds_min_rtn_i32", [](i32 m, i32 d, i32) -> i32 { return smaller(m, d); }),
        atomic("ds_max_i32", [](i32 m, i32 d, i32) -> i32 { return larger(m, d); }),
        atomic_rtn("ds_max_rtn_i32", [](i32 m, i32 d, i32) -> i32 { return larger(m, d); }),
        atomic("ds_min_u32", [](u32 m, u32 d, u32) -> u32 { return smaller(m, d); }),
        atomic_rtn("ds_min_rtn_u32", [](u32 m, u32 d, u32) -> u32 { return smaller(m, d); }),
        atomic("ds_max_u32", [](u32 m, u32 d, u32) -> u32 { return larger(m, d); }),
        atomic_rtn("ds_max_rtn_u32", [](u32 m, u32 d, u32) -> u32 { return larger(m, d); }),
        atomic("ds_and_b32", [](u32 m, u32 d, u32) -> u32 { return m & d; }),
        atomic_rtn("ds_and_rtn_b32", [](u32 m, u32 d, u32) -> u32 { return m & d; }),
        atomic("ds_or_b32", [](u32 m, u32 d, u32) -> u32 { return m | d; }),
        atomic_rtn("ds_or_rtn_b32", [](u32 m, u32 d, u32) -> u32 { return m | d; }),
        atomic("ds_xor_b32", [](u32 m, u32 d, u32) -> u32 { return m ^ d; }),
        atomic_rtn("ds_xor_rtn_b32", [](u32 m, u32 d, u32) -> u32 { return m ^ d; }),
        atomic("ds_min_f32", [](f32 m, f32 d, f32) -> f32 { return min_number(m, d); }),
        atomic_rtn("ds_min_rtn_f32", [](f32 m, f32 d, f32) -> f32 { return min_number(m, d); }),
        atomic("ds_max_f32", [](f32 m, f32 d, f32) -> f32 { return max_number(m, d); }),
        atomic_rtn("ds_max_rtn_f32", [](f32 m, f32 d, f32) -> f32 { return max_number(m, d); }),
        atomic("ds_add_f32", [](f32 m, f32 d, f32) -> f32 { return add(m, d); }),
        atomic_rtn("ds_add_rtn_f32", [](f32 m, f32 d, f32) -> f32 { return add(m, d); }),
        atomic_rtn("ds_wrxchg_rtn_b32", [](u32, u32 d, u32) -> u32 { return d; }),
        compare_swap("ds_cmpst_b32", [](u32 m, u32 expected, u32 d) -> u32 { return m == expected ? d : m; }),
        compare_swap("ds_cmpst_f32", [](f32 m, f32 expected, f32 d) -> f32 { return m == expected ? d : m; }),
        compare_swap("ds_mskor_b32", [](u32 m, u32 mask, u32 d) -> u32 { return (m & ~mask) | d; }),
        compare_swap_rtn("ds_cmpst_rtn_b32", [](u32 m, u32 expected, u32 d) -> u32 { return m == expected ? d : m; }),
        compare_swap_rtn("ds_cmpst_rtn_f32", [](f32 m, f32 expected, f32 d) -> f32 { return m == expected ? d : m; }),
        compare_swap_rtn("ds_mskor_rtn_b32", [](u32 m, u32 mask, u32 d) -> u32 { return (m & ~mask) | d; }),
        atomic("ds_add_u64", [](u64 m, u64 d, u64) -> u64 { return m + d; }),
        atomic_rtn("ds_add_rtn_u64", [](u64 m, u64 d, u64) -> u64 { return m + d; }),
        atomic("ds_sub_u64", [](u64 m, u64 d, u64) -> u64 { return m - d; }),
        atomic_rtn("ds_sub_rtn_u64", [](u64 m, u64 d, u64) -> u64 { return m - d; }),
        atomic("ds_rsub_u64", [](u64 m, u64 d, u64) -> u64 { return d - m; }),
        atomic_rtn("ds_rsub_rtn_u64", [](u64 m, u64 d, u64) -> u64 { return d - m; }),
        atomic("ds_inc_u64", [](u64 m, u64 d, u64) -> u64 { return m >= d ? u64{0} : m + u64{1}; }),
        atomic_rtn("ds_inc_rtn_u64", [](u64 m, u64 d, u64) -> u64 { return m >= d ? u64{0} : m + u64{1}; }),
        atomic("ds_dec_u64", [](u64 m, u64 d, u64) -> u64 { return m == 0 || m > d ? d : m - u64{1}; }),
        atomic_rtn("ds_dec_rtn_u64", [](u64 m, u64 d, u64) -> u64 { return m == 0 || m > d ? d : m - u64{1}; }),
        atomic("ds_min_i64", [](i64 m, i64 d, i64) -> i64 { return smaller(m, d); }),
        atomic_rtn("ds_min_rtn_i64", [](i64 m, i64 d, i64) -> i64 { return smaller(m, d); }),
        atomic("ds_max_i64", [](i64 m, i64 d, i64) -> i64 { return larger(m, d); }),
        atomic_rtn("ds_max_rtn_i64", [](i64 m, i64 d, i64) -> i64 { return larger(m, d); }),
        atomic("ds_min_u64", [](u64 m, u64 d, u64) -> u64 { return smaller(m, d); }),
        atomic_rtn("ds_min_rtn_u64", [](u64 m, u64 d, u64) -> u64 { return smaller(m, d); }),
        atomic("ds_max_u64", [](u64 m, u64 d, u64) -> u64 { return larger(m, d); }),
        atomic_rtn("ds_max_rtn_u64", [](u64 m, u64 d, u64) -> u64 { return larger(m, d); }),
        atomic("ds_and_b64", [](u64 m, u64 d, u64) -> u64 { return m & d; }),
        atomic_rtn("ds_and_rtn_b64", [](u64 m, u64 d, u64) -> u64 { return m & d; }),
        atomic("ds_or_b64", [](u64 m, u64 d, u64) -> u64 { return m | d; }),
        atomic_rtn("ds_or_rtn_b64", [](u64 m, u64 d, u64) -> u64 { return m | d; }),
        atomic("ds_xor_b64", [](u64 m, u64 d, u64) -> u64 { return m ^ d; }),
        atomic_rtn("ds_xor_rtn_b64", [](u64 m, u64 d, u64) -> u64 { return m ^ d; }),
        atomic("ds_min_f64", [](f64 m, f64 d, f64) -> f64 { return min_number(m, d); }),
        atomic_rtn("ds_min_rtn_f64", [](f64 m, f64 d, f64) -> f64 { return min_number(m, d); }),
        atomic("ds_max_f64", [](f64 m, f64 d, f64) -> f64 { return max_number(m, d); }),
        atomic_rtn("ds_max_rtn_f64", [](f64 m, f64 d, f64) -> f64 { return max_number(m, d); }),
        atomic("ds_add_f64", [](f64 m, f64 d, f64) -> f64 { return add(m, d); }),
        atomic_rtn("ds_add_rtn_f64", [](f64 m, f64 d, f64) -> f64 { return add(m, d); }),
        atomic_rtn("ds_wrxchg_rtn_b64", [](u64, u64 d, u64) -> u64 { return d; }),
        compare_swap("ds_cmpst_b64", [](u64 m, u64 expected, u64 d) -> u64 { return m == expected ? d : m; }),
        compare_swap("ds_cmpst_f64", [](f64 m, f64 expected, f64 d) -> f64 { return m == expected ? d : m; }),
        compare_swap("ds_mskor_b64", [](u64 m, u64 mask, u64 d) -> u64 { return (m & ~mask) | d; }),
        compare_swap_rtn("ds_cmpst_rtn_b64", [](u64 m, u64 expected, u64 d) -> u64 { return m == expected ? d : m; }),
        compare_swap_rtn("ds_cmpst_rtn_f64", [](f64 m, f64 expected, f64 d) -> f64 { return m == expected ? d : m; }),
        compare_swap_rtn("ds_mskor_rtn_b64", [](u64 m, u64 mask, u64 d) -> u64 { return (m & ~mask) | d; }),
        compare_swap_rtn("ds_wrap_rtn_b32", [](u32 m, u32 a, u32 b) -> u32 { return m >= a ? m - a : m + b; }),
        atomic("ds_pk_add_f16", [](u32 m, u32 d, u32) -> u32 { return add_halves(m, d); }),
        atomic("ds_pk_add_bf16", [](u32 m, u32 d, u32) -> u32 { return add_bfloats(m, d); }),
        atomic_rtn("ds_pk_add_rtn_f16", [](u32 m, u32 d, u32) -> u32 { return add_halves(m, d); }),
        atomic_rtn("ds_pk_add_rtn_bf16", [](u32 m, u32 d, u32) -> u32 { return add_bfloats(m, d); }),
    };
    return rows;
}

}  // namespace hipscope::HIPSCOPE_ISA
