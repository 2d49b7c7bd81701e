// See the header. Range checks follow LLVM's description of the buffer intrinsics: the VGPR and immediate offsets are
// checked and swizzled, the SGPR offset is neither; with IDXEN and a stride, NUM_RECORDS counts records, else bytes.
#include "isa/buffer.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

constexpr u32 element_bytes = 4;  // swizzling granularity of gfx9

/// Offset from the descriptor's base, SGPR offset left out.
u64 buffer_offset(const Descriptor& d, u32 index, u64 offset) {
    if (!d.swizzled) return u64{index} * d.stride + offset;
    const u32 group = index / d.index_stride, in_group = index % d.index_stride;
    return (u64{group} * d.stride + offset / element_bytes * element_bytes) * d.index_stride + in_group * element_bytes + offset % element_bytes;
}

/// The lane's private bytes behind an address of the scratch window, and their offset; nullptr when there are none.
u8* private_pointer(const Wave& w, u64 address, u32 bytes, u64& offset) {
    const u64 within = address - scratch_window;
    offset = within / (u64{kLanes} * element_bytes) * element_bytes + within % element_bytes;
    const auto lane = static_cast<int>(within / element_bytes % kLanes);
    return offset > ~0U ? nullptr : static_cast<u8*>(scratch_pointer(w, lane, static_cast<u32>(offset), bytes));
}

}  // namespace

Descriptor descriptor(const Wave& w, const Operand& o) {
    const u32* s = &w.sgpr[o.index];
    Descriptor d{};
    d.base = u64{s[0]} | (u64{s[1] & 0xffffU} << 32U);
    d.stride = (s[1] >> 16U) & 0x3fffU;
    d.records = s[2];
    d.swizzled = (s[1] >> 31U) != 0;
    for (u32 i = 0; i < 4; ++i) d.select[i] = (s[3] >> (3U * i)) & 7U;
    d.number_format = (s[3] >> 12U) & 7U;
    d.data_format = (s[3] >> 15U) & 15U;
    d.index_stride = 8U << ((s[3] >> 21U) & 3U);
    d.add_lane = ((s[3] >> 23U) & 1U) != 0;
    if (d.add_lane) d.stride |= d.data_format << 14U;
    return d;
}

bool buffer_addresses(Wave& w, const Instruction& in, const BufferOperands& operands, const BufferShape& shape, u8* (*at)[kLanes]) {
    const Descriptor d = descriptor(w, operands.resource);
    const bool indexed = (in.target & index_enable) != 0;
    const bool is_private = d.base - scratch_window < aperture::limit;
    const u32 scalar = scalar32(w, operands.soffset);
    const u32 total = shape.elements * shape.bytes;
    u64 lanes = 0;
    for (u64 left = w.exec(); left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        u32 index = indexed ? w.vgpr[operands.vaddr.index][lane] : 0;
        if (d.add_lane) index += static_cast<u32>(lane);
        // Not modulo 2^32: what a kernel puts out of range by an offset of -1 stays there with all of its dwords.
        u64 offset = static_cast<u32>(in.modifiers.offset);
        if ((in.target & offset_enable) != 0) offset += w.vgpr[operands.vaddr.index + (indexed ? 1 : 0)][lane];
        for (u32 n = 0; n < shape.elements; ++n) {
            const u64 first = offset + u64{n} * shape.bytes;
            const u64 end = shape.together ? offset + total : first + shape.bytes;
            const bool inside = indexed && d.stride != 0 ? index < d.records : end <= d.records;
            at[n][lane] = nullptr;
            if (!inside) continue;
            u64 address = d.base + scalar + buffer_offset(d, index, first);
            if (is_private) {
                u64 place = 0;
                at[n][lane] = private_pointer(w, address, shape.bytes, place);
                if (at[n][lane] == nullptr) return fault(w, FaultKind::stack_overflow, place, shape.bytes, lane, shape.write), false;
                address = place;
            } else {
                if (!w.memory->valid(address, shape.bytes)) return fault(w, FaultKind::out_of_bounds, address, shape.bytes, lane, shape.write), false;
                at[n][lane] = reinterpret_cast<u8*>(address);
            }
            if (((lanes >> static_cast<u32>(lane)) & 1U) == 0) w.access.address[0][lane] = address;
            lanes |= u64{1} << static_cast<u32>(lane);
        }
    }
    w.access.space = is_private ? Space::scratch : Space::global;
    w.access.lanes = lanes;
    return true;
}

void record_buffer(Wave& w, AccessKind kind, u32 bytes) { record(w, w.access.space, kind, bytes, w.access.lanes); }

}  // namespace hipscope::HIPSCOPE_ISA
