// Buffer (MUBUF) loads and stores (manual section 9.1) with linear addressing. As on hardware, what the descriptor
// puts out of range reads zero and is not written; swizzled descriptors are refused.
#include "isa/access.hpp"
#include "isa/families.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

constexpr u32 offset_enable = 1, index_enable = 2;  // Instruction::target, set by the decoder

struct Descriptor {
    u64 base;
    u32 stride, records;
    bool swizzled;
};
Descriptor descriptor(const Wave& w, const Operand& o) {
    const u32* s = &w.sgpr[o.index];
    return {u64{s[0]} | (u64{s[1] & 0xffffU} << 32U), (s[1] >> 16U) & 0x3fffU, s[2], (s[1] >> 31U) != 0};
}

/// Lane addresses into the access record; the lanes in range, or no value after a fault.
bool buffer_addresses(Wave& w, const Instruction& in, const Operand& vaddr, const Operand& resource, const Operand& soffset, u32 bytes, bool write, u64& lanes) {
    const Descriptor d = descriptor(w, resource);
    if (d.swizzled) {
        fault(w, FaultKind::unsupported, 0, 0, -1, write);
        return false;
    }
    const bool indexed = (in.target & index_enable) != 0;
    const u32 scalar = scalar32(w, soffset);
    const u64 active = w.exec();
    lanes = 0;
    for (u64 left = active; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        const u32 index = indexed ? w.vgpr[vaddr.index][lane] : 0;
        u32 offset = static_cast<u32>(in.modifiers.offset);
        if ((in.target & offset_enable) != 0) offset += w.vgpr[vaddr.index + (indexed ? 1 : 0)][lane];
        const bool inside = indexed && d.stride != 0 ? index < d.records : u64{offset} + bytes <= d.records;
        if (!inside) continue;
        const u64 address = d.base + scalar + u64{index} * d.stride + offset;
        if (!w.memory->valid(address, bytes)) {
            fault(w, FaultKind::out_of_bounds, address, bytes, lane, write);
            return false;
        }
        w.access.address[0][lane] = address;
        lanes |= u64{1} << static_cast<u32>(lane);
    }
    return true;
}

template <class Format>
Step load(Wave& w, const Instruction& in) {
    u64 lanes = 0;
    if (!buffer_addresses(w, in, in.source[0], in.source[1], in.source[2], Format::bytes, false, lanes)) return Step::fault;
    record(w, Space::global, AccessKind::load, Format::bytes, lanes);
    u32(*to)[kLanes] = w.vgpr + in.destination[0].index;
    constexpr u32 zero[4] = {};
    for (u64 left = w.exec(); left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        const bool inside = ((lanes >> static_cast<u32>(lane)) & 1U) != 0;
        load_lane<Format>(inside ? reinterpret_cast<const void*>(w.access.address[0][lane]) : zero, to, lane);
    }
    return Step::next;
}

template <class Format>
Step store(Wave& w, const Instruction& in) {
    u64 lanes = 0;
    if (!buffer_addresses(w, in, in.source[1], in.source[2], in.source[3], Format::bytes, true, lanes)) return Step::fault;
    record(w, Space::global, AccessKind::store, Format::bytes, lanes);
    const u32(*from)[kLanes] = w.vgpr + in.source[0].index;
    for (u64 left = lanes; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        store_lane<Format>(reinterpret_cast<void*>(w.access.address[0][lane]), from, lane);
    }
    return Step::next;
}

template <class Format>
constexpr Entry loads(std::string_view name) {
    Entry e;
    e.name = name;
    e.unit = Unit::vmem_load;
    e.run = &load<Format>;
    e.destinations = 1;
    e.sources = 3;
    e.source = {Type::wide, Type::wide, Type::b32};
    return e;
}
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
        loads<Part<u16, Half::low>>("buffer_load_short_d16"),
        loads<Part<u16, Half::high>>("buffer_load_short_d16_hi"),
        loads<Dwords<1>>("buffer_load_dword"),
        loads<Dwords<2>>("buffer_load_dwordx2"),
        loads<Dwords<3>>("buffer_load_dwordx3"),
        loads<Dwords<4>>("buffer_load_dwordx4"),
        stores<Part<u8, Half::replace>>("buffer_store_byte"),
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
