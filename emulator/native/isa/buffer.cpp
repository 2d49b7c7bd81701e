// Buffer (MUBUF) loads and stores of bytes, shorts and dwords, and loads that go straight to LDS (manual section 9.1).
// As on hardware, what the descriptor puts out of range reads zero and is not written.
#include "isa/buffer.hpp"
#include "isa/families.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

template <class Format>
constexpr u32 pieces = Format::whole ? Format::dwords : 1;
template <class Format>
constexpr BufferShape shape(bool write) { return {pieces<Format>, Format::whole ? 4U : Format::bytes, false, write}; }
/// One piece of a format: a dword of several, or the byte or short itself.
template <class Format>
using Piece = std::conditional_t<Format::whole, Dwords<1>, Format>;

template <class Format>
Step load(Wave& w, const Instruction& in) {
    u8* at[pieces<Format>][kLanes];
    if (!buffer_addresses(w, in, {in.source[0], in.source[1], in.source[2]}, shape<Format>(false), at)) return Step::fault;
    record_buffer(w, AccessKind::load, Format::bytes);
    u32(*to)[kLanes] = w.vgpr + in.destination[0].index;
    constexpr u32 zero = 0;
    for (u64 left = w.exec(); left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        for (u32 n = 0; n < pieces<Format>; ++n) load_lane<Piece<Format>>(at[n][lane] != nullptr ? at[n][lane] : static_cast<const void*>(&zero), to + n, lane);
    }
    return Step::next;
}

template <class Format>
Step store(Wave& w, const Instruction& in) {
    u8* at[pieces<Format>][kLanes];
    if (!buffer_addresses(w, in, {in.source[1], in.source[2], in.source[3]}, shape<Format>(true), at)) return Step::fault;
    record_buffer(w, AccessKind::store, Format::bytes);
    const u32(*from)[kLanes] = w.vgpr + in.source[0].index;
    for (u64 left = w.exec(); left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        for (u32 n = 0; n < pieces<Format>; ++n) {
            if (at[n][lane] != nullptr) store_lane<Piece<Format>>(at[n][lane], from + n, lane);
        }
    }
    return Step::next;
}

/// LDS address M0[15:0] + immediate offset + lane times the size of a slot: a dword, or the dwords of the format.
template <class Format>
Step load_to_lds(Wave& w, const Instruction& in) {
    u8* at[pieces<Format>][kLanes];
    if (!buffer_addresses(w, in, {in.source[0], in.source[1], in.source[2]}, shape<Format>(false), at)) return Step::fault;
    record_buffer(w, AccessKind::load, Format::bytes);
    const u64 base = (w.sgpr[sreg::m0] & 0xffffU) + static_cast<u64>(i64{in.modifiers.offset});
    constexpr u32 slot = pieces<Format> * 4;
    for (u64 left = w.exec(); left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        const u64 where = base + u64{slot} * static_cast<u64>(lane);
        void* to = lds_pointer(w, where, slot);
        if (to == nullptr) return fault(w, FaultKind::out_of_bounds, where, slot, lane, true);
        u32 value[pieces<Format>][kLanes];
        for (u32 n = 0; n < pieces<Format>; ++n) {
            value[n][lane] = 0;
            if (at[n][lane] != nullptr) load_lane<Piece<Format>>(at[n][lane], value + n, lane);
            std::memcpy(static_cast<u8*>(to) + 4 * n, &value[n][lane], 4);
        }
    }
    return Step::next;
}

constexpr Entry loading(std::string_view name, Handler run, u8 destinations) {
    Entry e;
    e.name = name;
    e.unit = Unit::vmem_load;
    e.run = run;
    e.destinations = destinations;
    e.sources = 3;
    e.source = {Type::wide, Type::wide, Type::b32};
    return e;
}
template <class Format>
constexpr Entry loads(std::string_view name) { return loading(name, &load<Format>, 1); }
template <class Format>
constexpr Entry lds_loads(std::string_view name) { return loading(name, &load_to_lds<Format>, 0); }
template <class Format>
constexpr Entry stores(std::string_view name) {
    Entry e;
    e.name = name;
    e.unit = Unit::vmem_store;
    e.run = &store<Format>;
    e.sources = 4;
    e.source = {Type::wide, Type::wide, Type::wide, Type::b32};
    return e;
}

}  // namespace

Table buffer() {
    static constexpr Entry rows[] = {
        loads<Part<u8, Half::replace>>("buffer_load_ubyte"),
        loads<Part<i8, Half::replace>>("buffer_load_sbyte"),
        loads<Part<u16, Half::replace>>("buffer_load_ushort"),
        loads<Part<i16, Half::replace>>("buffer_load_sshort"),
        loads<Part<u8, Half::low>>("buffer_load_ubyte_d16"),
        loads<Part<u8, Half::high>>("buffer_load_ubyte_d16_hi"),
        loads<Part<i8, Half::low>>("buffer_load_sbyte_d16"),
        loads<Part<i8, Half::high>>("buffer_load_sbyte_d16_hi"),
        loads<Part<u16, Half::low>>("buffer_load_short_d16"),
        loads<Part<u16, Half::high>>("buffer_load_short_d16_hi"),
        loads<Dwords<1>>("buffer_load_dword"),
        loads<Dwords<2>>("buffer_load_dwordx2"),
        loads<Dwords<3>>("buffer_load_dwordx3"),
        loads<Dwords<4>>("buffer_load_dwordx4"),
        // `... lds`: the decoder adds the suffix
        lds_loads<Part<u8, Half::replace>>("buffer_load_ubyte_lds"),
        lds_loads<Part<i8, Half::replace>>("buffer_load_sbyte_lds"),
        lds_loads<Part<u16, Half::replace>>("buffer_load_ushort_lds"),
        lds_loads<Part<i16, Half::replace>>("buffer_load_sshort_lds"),
        lds_loads<Dwords<1>>("buffer_load_dword_lds"),
        lds_loads<Dwords<3>>("buffer_load_dwordx3_lds"),
        lds_loads<Dwords<4>>("buffer_load_dwordx4_lds"),
        stores<Part<u8, Half::replace>>("buffer_store_byte"),
        stores<Part<u8, Half::high>>("buffer_store_byte_d16_hi"),
        stores<Part<u16, Half::replace>>("buffer_store_short"),
        stores<Part<u16, Half::high>>("buffer_store_short_d16_hi"),
        stores<Dwords<1>>("buffer_store_dword"),
        stores<Dwords<2>>("buffer_store_dwordx2"),
        stores<Dwords<3>>("buffer_store_dwordx3"),
        stores<Dwords<4>>("buffer_store_dwordx4"),
    };
    return rows;
}

}  // namespace hipscope::HIPSCOPE_ISA
