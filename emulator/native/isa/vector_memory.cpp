// Global, flat and scratch loads and stores (manual chapter 10).
#include "isa/families.hpp"
#include "isa/teams.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

/// Which space a flat access is accounted to: that of its lanes, with their addresses relative to it.
void record_flat(Wave& w, AccessKind kind, u32 bytes, u64 active) {
    const Apertures a = apertures(w.access.address[0], active);
    const u64 global = active & ~(a.shared | a.privately);
    if (global != 0) return record(w, Space::global, kind, bytes, global);
    for (u64& address : w.access.address[0]) address &= aperture::limit;
    if (a.shared != 0) record(w, Space::lds, kind, bytes, a.shared);
    else record(w, Space::scratch, kind, bytes, a.privately);
}

/// The usual case: all lanes read one run of elements. False when it is not so, or when the access must be looked at closer.
template <class Format>
bool loaded_run(Wave& w, const Instruction& in, u64 active) {
    if (active != ~u64{0}) return false;
    const u64 first = start_of_run(w, in, 1, Format::bytes);
    if (first == 0 || !w.memory->valid_range(first, kLanes * Format::bytes)) return false;
    record_run(w, Space::global, AccessKind::load, Format::bytes, first);
    fetch_next<kLanes * Format::bytes>(first);
    load_run<Format>(reinterpret_cast<const void*>(first), w.vgpr + in.destination[0].index);
    return true;
}
template <class Format>
bool stored_run(Wave& w, const Instruction& in, u64 active) {
    if (active != ~u64{0}) return false;
    const u64 first = start_of_run(w, in, 2, Format::bytes);
    if (first == 0 || !w.memory->valid_range(first, kLanes * Format::bytes)) return false;
    record_run(w, Space::global, AccessKind::store, Format::bytes, first);
    fetch_next<kLanes * Format::bytes>(first);
    store_run<Format>(reinterpret_cast<void*>(first), w.vgpr + in.source[1].index);
    return true;
}

/// The same for lanes that are evenly spaced in teams only. Gives what take(teams, base) gives, with what the teams are relative to.
template <class Format, AccessKind kind, class Take>
HIPSCOPE_INLINE bool with_valid_teams(Wave& w, const Instruction& in, int saddr, u64 active, Take take) {
    if (active != ~u64{0}) return false;
    const u32* lo = w.vgpr[in.source[0].index];
    return with_teams<Format>(lo, 0, [=, &w, &in](const auto& teams) {
        if (teams.template end<Format>() > u64{1} << 32U) return false;
        u64 base = static_cast<u64>(i64{in.modifiers.offset});
        if (in.modifiers.scalar_base) {
            base += scalar64(w, in.source[saddr]);
        } else {
            const u32* hi = lo + kLanes;
            if (!all_same(hi)) return false;
            base += u64{hi[0]} << 32U;
        }
        for (int t = 0; t < kTeams; ++t)
            if (!w.memory->valid_range(base + teams.first[t], extent<Format>(teams.step(t)))) return false;
        if (w.observed) record_teams<Format, Space::global, kind>(w, teams, base);
        fetch_next(teams, base);
        take(teams, base);
        return true;
    });
}
template <class Format>
bool loaded_teams(Wave& w, const Instruction& in, u64 active) {
    const auto load = [&w, &in](const auto& teams, u64 base) { load_teams<Format>(teams, base, w.vgpr + in.destination[0].index); };
    return with_valid_teams<Format, AccessKind::load>(w, in, 1, active, load);
}
template <class Format>
bool stored_teams(Wave& w, const Instruction& in, u64 active) {
    const auto store = [&w, &in](const auto& teams, u64 base) { store_teams<Format>(teams, base, w.vgpr + in.source[1].index); };
    return with_valid_teams<Format, AccessKind::store>(w, in, 2, active, store);
}

template <class Format>
Step load_global(Wave& w, const Instruction& in, u64 active) {
    u64* address = w.access.address[0];
    u32(*to)[kLanes] = w.vgpr + in.destination[0].index;
    record(w, Space::global, AccessKind::load, Format::bytes, active);
    const int bad = first_invalid(*w.memory, address, active, Format::bytes);
    if (bad >= 0) [[unlikely]] return fault(w, FaultKind::out_of_bounds, address[bad], Format::bytes, bad, false);
    for (u64 left = active; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        load_lane<Format>(reinterpret_cast<const void*>(address[lane]), to, lane);
    }
    return Step::next;
}

template <class Format>
Step store_global(Wave& w, const Instruction& in, u64 active) {
    u64* address = w.access.address[0];
    const u32(*from)[kLanes] = w.vgpr + in.source[1].index;
    record(w, Space::global, AccessKind::store, Format::bytes, active);
    const int bad = first_invalid(*w.memory, address, active, Format::bytes);
    if (bad >= 0) [[unlikely]] return fault(w, FaultKind::out_of_bounds, address[bad], Format::bytes, bad, true);
    for (u64 left = active; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        store_lane<Format>(reinterpret_cast<void*>(address[lane]), from, lane);
    }
    return Step::next;
}

/// Scratch, and flat accesses with lanes in an aperture. False: fault.
template <Segment segment>
bool resolve(Wave& w, const Instruction& in, int saddr, u64 active, u32 bytes, AccessKind kind, void** pointer) {
    const bool write = kind != AccessKind::load;
    if constexpr (segment == Segment::scratch) {
        if (!resolve_scratch(w, in, saddr, active, bytes, write, pointer)) return false;
        record(w, Space::scratch, kind, bytes, active);
    } else {
        if (!resolve_flat(w, w.access.address[0], active, bytes, write, pointer)) return false;
        record_flat(w, kind, bytes, active);
    }
    return true;
}

/// `visit(lane)` of each active lane in turn; mostly that is all of them.
template <class Visit>
HIPSCOPE_INLINE void each_lane(u64 active, const Visit& visit) {
    if (active == ~u64{0}) {
        for (int lane = 0; lane < kLanes; ++lane) visit(lane);
        return;
    }
    for (u64 left = active; left != 0; left &= left - 1) visit(std::countr_zero(left));
}

template <Segment segment, class Format>
Step load(Wave& w, const Instruction& in) {
    const u64 active = w.exec();
    if constexpr (segment != Segment::scratch) {
        if (loaded_run<Format>(w, in, active) || loaded_teams<Format>(w, in, active)) return Step::next;
        global_addresses(w, in, 1, w.access.address[0]);
        if constexpr (segment == Segment::global) return load_global<Format>(w, in, active);
        const Apertures a = apertures(w.access.address[0], active);
        if ((a.shared | a.privately) == 0) return load_global<Format>(w, in, active);
    }
    void* pointer[kLanes];
    if (!resolve<segment>(w, in, 1, active, Format::bytes, AccessKind::load, pointer)) return Step::fault;
    u32(*to)[kLanes] = w.vgpr + in.destination[0].index;
    each_lane(active, [&](int lane) { load_lane<Format>(pointer[lane], to, lane); });
    return Step::next;
}

template <Segment segment, class Format>
Step store(Wave& w, const Instruction& in) {
    const u64 active = w.exec();
    if constexpr (segment != Segment::scratch) {
        if (stored_run<Format>(w, in, active) || stored_teams<Format>(w, in, active)) return Step::next;
        global_addresses(w, in, 2, w.access.address[0]);
        if constexpr (segment == Segment::global) return store_global<Format>(w, in, active);
        const Apertures a = apertures(w.access.address[0], active);
        if ((a.shared | a.privately) == 0) return store_global<Format>(w, in, active);
    }
    void* pointer[kLanes];
    if (!resolve<segment>(w, in, 2, active, Format::bytes, AccessKind::store, pointer)) return Step::fault;
    const u32(*from)[kLanes] = w.vgpr + in.source[1].index;
    each_lane(active, [&](int lane) { store_lane<Format>(pointer[lane], from, lane); });
    return Step::next;
}

/// global_load_lds, scratch_load_lds: straight to LDS at M0 + offset + lane * the size of a slot, a dword at least.
template <Segment segment, class Format>
Step load_to_lds(Wave& w, const Instruction& in) {
    const u64 active = w.exec();
    void* pointer[kLanes];
    if constexpr (segment == Segment::global) {
        u64* address = w.access.address[0];
        global_addresses(w, in, 1, address);
        const int bad = first_invalid(*w.memory, address, active, Format::bytes);
        if (bad >= 0) [[unlikely]] return fault(w, FaultKind::out_of_bounds, address[bad], Format::bytes, bad, false);
        for (int i = 0; i < kLanes; ++i) pointer[i] = reinterpret_cast<void*>(address[i]);
        record(w, Space::global, AccessKind::load, Format::bytes, active);
    } else if (!resolve<segment>(w, in, 1, active, Format::bytes, AccessKind::load, pointer)) {
        return Step::fault;
    }
    const u64 base = (w.sgpr[sreg::m0] & 0xffffU) + static_cast<u64>(i64{in.modifiers.offset});
    constexpr u32 slot = Format::dwords * 4;
    for (u64 left = active; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        const u64 where = base + u64{slot} * static_cast<u64>(lane);
        void* to = lds_pointer(w, where, slot);
        if (to == nullptr) return fault(w, FaultKind::out_of_bounds, where, slot, lane, true);
        u32 value[Format::dwords][kLanes];
        load_lane<Format>(pointer[lane], value, lane);
        for (u32 d = 0; d < Format::dwords; ++d) std::memcpy(static_cast<u8*>(to) + 4 * d, &value[d][lane], 4);
    }
    return Step::next;
}
template <Segment segment, class Format>
constexpr Entry loads_to_lds(std::string_view name) {
    Entry e;
    e.name = name;
    e.unit = segment == Segment::scratch ? Unit::scratch : Unit::vmem_load;
    e.run = &load_to_lds<segment, Format>;
    e.sources = 2;
    e.source = {Type::wide, Type::b64};
    return e;
}

template <Segment segment, class Format>
constexpr Entry loads(std::string_view name) {
    Entry e;
    e.name = name;
    e.unit = segment == Segment::scratch ? Unit::scratch : Unit::vmem_load;
    e.run = &load<segment, Format>;
    e.destinations = 1;
    e.sources = 2;
    e.source = {Type::wide, Type::b64};
    return e;
}
template <Segment segment, class Format>
constexpr Entry stores(std::string_view name) {
    Entry e;
    e.name = name;
    e.unit = segment == Segment::scratch ? Unit::scratch : Unit::vmem_store;
    e.run = &store<segment, Format>;
    e.sources = 3;
    e.source = {Type::wide, Type::wide, Type::b64};
    return e;
}

using UByte = Part<u8, Half::replace>;
using SByte = Part<i8, Half::replace>;
using UShort = Part<u16, Half::replace>;
using SShort = Part<i16, Half::replace>;

}  // namespace

Table vector_memory() {
    using enum Segment;
    static constexpr Entry rows[] = {
        loads<global, UByte>("global_load_ubyte"), loads<flat, UByte>("flat_load_ubyte"), loads<scratch, UByte>("scratch_load_ubyte"),
        loads<global, SByte>("global_load_sbyte"), loads<flat, SByte>("flat_load_sbyte"), loads<scratch, SByte>("scratch_load_sbyte"),
        loads<global, UShort>("global_load_ushort"), loads<flat, UShort>("flat_load_ushort"), loads<scratch, UShort>("scratch_load_ushort"),
        loads<global, SShort>("global_load_sshort"), loads<flat, SShort>("flat_load_sshort"), loads<scratch, SShort>("scratch_load_sshort"),
        loads<global, Dwords<1>>("global_load_dword"), loads<flat, Dwords<1>>("flat_load_dword"), loads<scratch, Dwords<1>>("scratch_load_dword"),
        loads<global, Dwords<2>>("global_load_dwordx2"), loads<flat, Dwords<2>>("flat_load_dwordx2"), loads<scratch, Dwords<2>>("scratch_load_dwordx2"),
        loads<global, Dwords<3>>("global_load_dwordx3"), loads<flat, Dwords<3>>("flat_load_dwordx3"), loads<scratch, Dwords<3>>("scratch_load_dwordx3"),
        loads<global, Dwords<4>>("global_load_dwordx4"), loads<flat, Dwords<4>>("flat_load_dwordx4"), loads<scratch, Dwords<4>>("scratch_load_dwordx4"),
        loads<global, Part<u8, Half::low>>("global_load_ubyte_d16"), loads<flat, Part<u8, Half::low>>("flat_load_ubyte_d16"), loads<scratch, Part<u8, Half::low>>("scratch_load_ubyte_d16"),
        loads<global, Part<u8, Half::high>>("global_load_ubyte_d16_hi"), loads<flat, Part<u8, Half::high>>("flat_load_ubyte_d16_hi"), loads<scratch, Part<u8, Half::high>>("scratch_load_ubyte_d16_hi"),
        loads<global, Part<i8, Half::low>>("global_load_sbyte_d16"), loads<flat, Part<i8, Half::low>>("flat_load_sbyte_d16"), loads<scratch, Part<i8, Half::low>>("scratch_load_sbyte_d16"),
        loads<global, Part<i8, Half::high>>("global_load_sbyte_d16_hi"), loads<flat, Part<i8, Half::high>>("flat_load_sbyte_d16_hi"), loads<scratch, Part<i8, Half::high>>("scratch_load_sbyte_d16_hi"),
        loads<global, Part<u16, Half::low>>("global_load_short_d16"), loads<flat, Part<u16, Half::low>>("flat_load_short_d16"), loads<scratch, Part<u16, Half::low>>("scratch_load_short_d16"),
        loads<global, Part<u16, Half::high>>("global_load_short_d16_hi"), loads<flat, Part<u16, Half::high>>("flat_load_short_d16_hi"), loads<scratch, Part<u16, Half::high>>("scratch_load_short_d16_hi"),

        loads_to_lds<global, Dwords<1>>("global_load_lds_dword"), loads_to_lds<scratch, Dwords<1>>("scratch_load_lds_dword"),
        loads_to_lds<global, UShort>("global_load_lds_ushort"), loads_to_lds<scratch, UShort>("scratch_load_lds_ushort"),
        loads_to_lds<global, SShort>("global_load_lds_sshort"), loads_to_lds<scratch, SShort>("scratch_load_lds_sshort"),
        loads_to_lds<global, UByte>("global_load_lds_ubyte"), loads_to_lds<scratch, UByte>("scratch_load_lds_ubyte"),
        loads_to_lds<global, SByte>("global_load_lds_sbyte"), loads_to_lds<scratch, SByte>("scratch_load_lds_sbyte"),
        loads_to_lds<global, Dwords<3>>("global_load_lds_dwordx3"), loads_to_lds<global, Dwords<4>>("global_load_lds_dwordx4"),

        stores<global, UByte>("global_store_byte"), stores<flat, UByte>("flat_store_byte"), stores<scratch, UByte>("scratch_store_byte"),
        stores<global, UShort>("global_store_short"), stores<flat, UShort>("flat_store_short"), stores<scratch, UShort>("scratch_store_short"),
        stores<global, Part<u8, Half::high>>("global_store_byte_d16_hi"), stores<flat, Part<u8, Half::high>>("flat_store_byte_d16_hi"), stores<scratch, Part<u8, Half::high>>("scratch_store_byte_d16_hi"),
        stores<global, Part<u16, Half::high>>("global_store_short_d16_hi"), stores<flat, Part<u16, Half::high>>("flat_store_short_d16_hi"), stores<scratch, Part<u16, Half::high>>("scratch_store_short_d16_hi"),
        stores<global, Dwords<1>>("global_store_dword"), stores<flat, Dwords<1>>("flat_store_dword"), stores<scratch, Dwords<1>>("scratch_store_dword"),
        stores<global, Dwords<2>>("global_store_dwordx2"), stores<flat, Dwords<2>>("flat_store_dwordx2"), stores<scratch, Dwords<2>>("scratch_store_dwordx2"),
        stores<global, Dwords<3>>("global_store_dwordx3"), stores<flat, Dwords<3>>("flat_store_dwordx3"), stores<scratch, Dwords<3>>("scratch_store_dwordx3"),
        stores<global, Dwords<4>>("global_store_dwordx4"), stores<flat, Dwords<4>>("flat_store_dwordx4"), stores<scratch, Dwords<4>>("scratch_store_dwordx4"),
    };
    return rows;
}

}  // namespace hipscope::HIPSCOPE_ISA
