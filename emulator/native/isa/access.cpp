// Resolving flat and scratch addresses to host memory, lane by lane.
#include "isa/access.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

/// Whether the offsets of all active lanes are `last` at most: a loop without branches, for arrays in private memory.
bool inside_scratch(const u32* row, u32 base, u32 last, u64 active) {
    u64 outside = 0;
    for (std::size_t i = 0; i < kLanes; ++i) outside |= (active >> i) & static_cast<u64>(u32{base + row[i]} > last);
    return outside == 0;
}

}  // namespace

bool resolve_flat(Wave& w, const u64* address, u64 active, u32 bytes, bool write, void** pointer) {
    const Apertures a = apertures(address, active);
    for (u64 left = active; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        const u64 bit = u64{1} << static_cast<u32>(lane);
        FaultKind kind = FaultKind::out_of_bounds;
        if ((a.shared & bit) != 0) {
            pointer[lane] = lds_pointer(w, address[lane] & aperture::limit, bytes);
        } else if ((a.privately & bit) != 0) {
            pointer[lane] = scratch_pointer(w, lane, static_cast<u32>(address[lane]), bytes);
            kind = FaultKind::stack_overflow;
        } else {
            pointer[lane] = w.memory->valid(address[lane], bytes) ? reinterpret_cast<void*>(address[lane]) : nullptr;
        }
        if (pointer[lane] == nullptr) {
            fault(w, kind, address[lane], bytes, lane, write);
            return false;
        }
    }
    return true;
}

bool resolve_scratch(Wave& w, const Instruction& in, int saddr, u64 active, u32 bytes, bool write, void** pointer) {
    u32 base = static_cast<u32>(in.modifiers.offset);
    if (in.source[saddr].kind != OperandKind::none) base += scalar32(w, in.source[saddr]);
    const u32* row = in.source[0].kind == OperandKind::none ? nullptr : w.vgpr[in.source[0].index];
    if (row == nullptr && u64{base} + bytes <= w.scratch_per_lane) {  // a spill or a fixed stack slot: one offset
        u8* first = w.scratch + base;
        const std::size_t stride = w.scratch_per_lane;
        for (std::size_t i = 0; i < kLanes; ++i) pointer[i] = first + i * stride;
        for (u64& address : w.access.address[0]) address = base;
        return true;
    }
    if (row != nullptr && bytes <= w.scratch_per_lane && inside_scratch(row, base, w.scratch_per_lane - bytes, active)) {
        for (std::size_t i = 0; i < kLanes; ++i) pointer[i] = w.scratch + i * w.scratch_per_lane + u32{base + row[i]};
        for (std::size_t i = 0; i < kLanes; ++i) w.access.address[0][i] = u32{base + row[i]};
        return true;
    }
    for (u64 left = active; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        const u32 offset = base + (row != nullptr ? row[lane] : 0);
        w.access.address[0][lane] = offset;
        pointer[lane] = scratch_pointer(w, lane, offset, bytes);
        if (pointer[lane] == nullptr) {
            fault(w, FaultKind::stack_overflow, offset, bytes, lane, write);
            return false;
        }
    }
    return true;
}

}  // namespace hipscope::HIPSCOPE_ISA
