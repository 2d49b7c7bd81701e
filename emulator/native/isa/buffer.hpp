// Addresses of buffer instructions (MUBUF, MTBUF; manual section 9.1): a descriptor of four SGPRs, an index, offsets.
// In: the operands. Out: for every lane and element where it is in host memory, or nullptr when out of range.
#pragma once

#include "isa/access.hpp"

namespace hipscope::HIPSCOPE_ISA {

/// Instruction::target of a buffer instruction, set by the decoder.
inline constexpr u32 offset_enable = 1, index_enable = 2;

/// Where gfx90a's scratch descriptor points: a window that stands for the wave's own private memory.
inline constexpr u64 scratch_window = aperture::scratch_descriptor_base;

/// The buffer descriptor ("V#", table 44 of the manual).
struct Descriptor {
    u64 base;
    u32 stride, records;
    bool swizzled, add_lane;
    u32 index_stride;      // 8, 16, 32 or 64
    u32 select[4];         // 0: zero, 1: one, 4-7: x-w
    u32 number_format, data_format;
};
Descriptor descriptor(const Wave& w, const Operand& o);

/// Which operand is which: loads have the address first, stores and atomics their data.
struct BufferOperands {
    const Operand& vaddr;
    const Operand& resource;
    const Operand& soffset;
};

/// One access: `elements` pieces of `bytes` each per lane. `together`: in range as a whole or not at all (formats, atomics);
/// else every piece is checked on its own.
struct BufferShape {
    u32 elements, bytes;
    bool together, write;
};

/// Fills `at[element][lane]` and the addresses and lanes of the access record; the caller sets its kind.
/// False: Wave::fault is set.
bool buffer_addresses(Wave& w, const Instruction& in, const BufferOperands& operands, const BufferShape& shape, u8* (*at)[kLanes]);

/// The access record after `buffer_addresses`.
void record_buffer(Wave& w, AccessKind kind, u32 bytes);

}  // namespace hipscope::HIPSCOPE_ISA
