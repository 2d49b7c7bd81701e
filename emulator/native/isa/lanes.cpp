// The uncommon paths of the operand layer: modifiers, DPP (manual section 6.7), SDWA (6.6), op_sel, clamp and omod.
#include "isa/lanes.hpp"

#include <cstring>

#include "isa/raise.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

constexpr int no_lane = -1;

/// The lane that `lane` reads under a DPP control, or no_lane when that falls off its row or the wave.
int dpp_source(int lane, u32 control) {
    const int row = lane & ~15, in_row = lane & 15;
    const int count = static_cast<int>(control & 15U);
    if (control < 0x100) return (lane & ~3) | static_cast<int>((control >> (2U * static_cast<u32>(lane & 3))) & 3U);
    switch (control >> 4U) {
        case 0x10: return in_row + count < 16 ? lane + count : no_lane;        // row_shl
        case 0x11: return in_row - count >= 0 ? lane - count : no_lane;        // row_shr
        case 0x12: return row | ((in_row - count) & 15);                       // row_ror
        case 0x15: return row | count;                                         // row_newbcast
        default: break;
    }
    switch (control) {
        case 0x130: return lane < 63 ? lane + 1 : no_lane;                     // wave_shl
        case 0x134: return (lane + 1) & 63;                                    // wave_rol
        case 0x138: return lane > 0 ? lane - 1 : no_lane;                      // wave_shr
        case 0x13c: return (lane - 1) & 63;                                    // wave_ror
        case 0x140: return row | (15 - in_row);                                // row_mirror
        case 0x141: return (lane & ~7) | (7 - (lane & 7));                     // row_half_mirror
        case 0x142: return lane > 15 ? row - 1 : no_lane;                      // row_bcast:15
        case 0x143: return lane > 31 ? 31 : no_lane;                           // row_bcast:31
        default: return no_lane;
    }
}

/// Moves the lanes of `rows` as DPP says and takes the lanes that must not be written out of `active`.
void permute(const Wave& w, const Instruction& in, const Row& from, RowBuffer& to, bool two, u64& active) {
    const u64 exec = w.exec();
    u64 writable = 0;
    for (int i = 0; i < kLanes; ++i) {
        const int source = dpp_source(i, in.dpp.control);
        const bool valid = source != no_lane && ((exec >> static_cast<u32>(source)) & 1U) != 0;
        to[0][i] = valid ? from.lo[source] : 0;
        if (two) to[1][i] = valid ? from.hi[source] : 0;
        const bool chosen = ((in.dpp.row_mask >> static_cast<u32>(i / 16)) & 1U) != 0 &&
                            ((in.dpp.bank_mask >> static_cast<u32>((i & 15) / 4)) & 1U) != 0;
        if (chosen && (valid || in.dpp.bound_control)) writable |= u64{1} << static_cast<u32>(i);
    }
    active &= writable;
}

u32 select_part(u32 value, u8 select, bool sign_extend) {
    if (select < 4) {
        const u8 byte = static_cast<u8>(value >> (8U * select));
        return sign_extend ? static_cast<u32>(static_cast<i32>(static_cast<i8>(byte))) : byte;
    }
    if (select < 6) {
        const u16 word = static_cast<u16>(value >> (16U * (select - 4U)));
        return sign_extend ? static_cast<u32>(static_cast<i32>(static_cast<i16>(word))) : word;
    }
    return value;
}

struct SignMasks {
    u32 lo, hi;
};
SignMasks sign_masks(Type type) {
    switch (type) {
        case Type::f64: return {0, 0x80000000U};
        case Type::f16: case Type::b16: return {0x8000U, 0};
        default: return {0x80000000U, 0};
    }
}

/// op_sel, op_sel_hi, neg_lo and neg_hi of a packed 16-bit source.
void pack_halves(const Instruction& in, int k, u32* row, bool floats) {
    const u32 bit = 1U << static_cast<u32>(k);
    const u32 lo_shift = (in.modifiers.op_sel & bit) != 0 ? 16 : 0;
    const u32 hi_shift = (in.modifiers.op_sel_hi & bit) != 0 ? 16 : 0;
    const u32 flip = floats ? ((in.modifiers.neg_lo & bit) != 0 ? 0x8000U : 0U) | ((in.modifiers.neg_hi & bit) != 0 ? 0x80000000U : 0U) : 0U;
    for (int i = 0; i < kLanes; ++i) {
        const u32 value = row[i];
        row[i] = (((value >> lo_shift) & 0xffffU) | (((value >> hi_shift) & 0xffffU) << 16U)) ^ flip;
    }
}

/// v_fma_mix sources: op_sel_hi says half or float, op_sel which half.
void widen_mixed(const Instruction& in, int k, u32* row, u32 mode) {
    const Denormals rules(mode);
    const u32 bit = 1U << static_cast<u32>(k);
    const Operand& o = in.source[k];
    const u32 shift = (in.modifiers.op_sel & bit) != 0 ? 16 : 0;
    const bool half = (in.modifiers.op_sel_hi & bit) != 0;
    for (int i = 0; i < kLanes; ++i) {
        u32 value = bits<u32>(half ? widen(rules.operand(f16{static_cast<u16>(row[i] >> shift)})) : rules.operand(bits<f32>(row[i])));
        if (o.absolute) value &= 0x7fffffffU;
        if (o.negate) value ^= 0x80000000U;
        row[i] = value;
    }
}

/// What the clamp bit does to NaN depends on MODE.DX10_CLAMP: zero when it is set (as at the start of a kernel).
enum class Clamp : u8 { off, nan_to_zero, keep_nan };

/// Output modifiers (manual section 6.2): denormals and -0 become +0.
template <class T>
T scaled(T x, u8 omod) {
    if (omod == 0) return x;
    const T r = omod == 1 ? x * T{2} : omod == 2 ? x * T{4} : x * T{0.5};
    constexpr T smallest = sizeof(T) == 8 ? T(0x1p-1022) : T(0x1p-126);
    return std::fabs(r) < smallest ? T{0} : r;
}
template <class T>
T clamped(T x, Clamp clamp) {
    if (clamp == Clamp::off || (clamp == Clamp::keep_nan && x != x)) return x;
    return x >= T{1} ? T{1} : x > T{0} ? x : T{0};
}
f16 finish_half(f16 x, u8 omod, Clamp clamp, u32 mode) {
    if (omod == 0 && clamp == Clamp::off) return x;
    const f16 r = OtherMode(mode).nearest(clamped(scaled(widen(x), omod), clamp));
    return omod != 0 && (r.bits & 0x7c00U) == 0 ? f16{0} : r;
}
/// They are ignored in IEEE mode and where results may be denormal.
u8 output_modifier(const Wave& wave, u8 omod, Type type) {
    const u32 keeps_denormals = type == Type::f32 ? 5 : 7;
    const bool ignored = ((wave.mode >> mode_ieee_bit) & 1U) != 0 || ((wave.mode >> keeps_denormals) & 1U) != 0;
    return ignored ? u8{0} : omod;
}

}  // namespace

u32 special_source(const Wave& wave, u32 index) {
    switch (index) {
        case source_vccz: return static_cast<u32>(wave.vcc() == 0);
        case source_execz: return static_cast<u32>(wave.exec() == 0);
        default: return static_cast<u32>(wave.scc);
    }
}

Row fetch_modified(const Wave& wave, const Instruction& in, int k, RowBuffer& buffer, Type type, u64& active) {
    const Operand& o = in.source[k];
    const bool two = type == Type::b64 || type == Type::i64 || type == Type::f64 || type == Type::pk_f32;
    if (o.kind == OperandKind::vgpr || o.kind == OperandKind::agpr) {
        const Row row{wave.vgpr[o.index], wave.vgpr[o.index + 1]};
        if (type == Type::f32 && o.select == 6 && !in.dpp.present) {  // a sign, which is what most of these operands have
            const u32 keep = o.absolute ? 0x7fffffffU : ~0U, flip = o.negate ? 0x80000000U : 0U;
            for (int i = 0; i < kLanes; ++i) buffer[0][i] = (row.lo[i] & keep) ^ flip;
            return {buffer[0], buffer[1]};
        }
        if (in.dpp.present && k == 0) {
            permute(wave, in, row, buffer, two, active);
        } else {
            std::memcpy(buffer[0], row.lo, sizeof buffer[0]);
            if (two) std::memcpy(buffer[1], row.hi, sizeof buffer[1]);
        }
    } else {
        const u64 value = two ? scalar64(wave, o) : scalar32(wave, o);
        for (int i = 0; i < kLanes; ++i) buffer[0][i] = static_cast<u32>(value);
        for (int i = 0; i < kLanes; ++i) buffer[1][i] = static_cast<u32>(value >> 32U);
    }
    if (type == Type::mix) {
        widen_mixed(in, k, buffer[0], wave.mode);
        return {buffer[0], buffer[1]};
    }
    const u32 bit = 1U << static_cast<u32>(k);
    if (in.packed && type == Type::pk_f32) {
        Row r{(in.modifiers.op_sel & bit) != 0 ? buffer[1] : buffer[0], (in.modifiers.op_sel_hi & bit) != 0 ? buffer[1] : buffer[0]};
        const u32 flip_lo = (in.modifiers.neg_lo & bit) != 0 ? 0x80000000U : 0, flip_hi = (in.modifiers.neg_hi & bit) != 0 ? 0x80000000U : 0;
        for (int i = 0; i < kLanes; ++i) {
            const u32 lo = r.lo[i] ^ flip_lo, hi = r.hi[i] ^ flip_hi;
            buffer[0][i] = lo;
            buffer[1][i] = hi;
        }
        return {buffer[0], buffer[1]};
    }
    if (in.packed && (type == Type::pk16 || type == Type::pk_f16)) {
        pack_halves(in, k, buffer[0], type == Type::pk_f16);
        return {buffer[0], buffer[1]};
    }
    if (o.select != 6) {
        for (int i = 0; i < kLanes; ++i) buffer[0][i] = select_part(buffer[0][i], o.select, o.sign_extend);
    } else if (!in.packed && (type == Type::f16 || type == Type::b16) && (in.modifiers.op_sel & bit) != 0) {
        for (int i = 0; i < kLanes; ++i) buffer[0][i] >>= 16U;
    }
    const SignMasks sign = sign_masks(type);
    if (o.absolute) {
        for (int i = 0; i < kLanes; ++i) buffer[0][i] &= ~sign.lo;
        for (int i = 0; i < kLanes; ++i) buffer[1][i] &= ~sign.hi;
    }
    if (o.negate) {
        for (int i = 0; i < kLanes; ++i) buffer[0][i] ^= sign.lo;
        for (int i = 0; i < kLanes; ++i) buffer[1][i] ^= sign.hi;
    }
    return {buffer[0], buffer[1]};
}

void write_modified(Wave& wave, const Instruction& in, RowBuffer& out, int dwords, u64 active, Type type) {
    const Modifiers& m = in.modifiers;
    const u8 omod = m.omod == 0 ? u8{0} : output_modifier(wave, m.omod, type);
    if (omod != 0 || m.clamp) {
        const Clamp clamp = !m.clamp ? Clamp::off : ((wave.mode >> mode_dx10_clamp_bit) & 1U) != 0 ? Clamp::nan_to_zero : Clamp::keep_nan;
        for (int i = 0; i < kLanes; ++i) {
            if (type == Type::f32) {
                out[0][i] = bits<u32>(clamped(scaled(bits<f32>(out[0][i]), omod), clamp));
            } else if (type == Type::f16) {
                out[0][i] = finish_half({static_cast<u16>(out[0][i])}, omod, clamp, wave.mode).bits;
            } else if (type == Type::pk_f16) {
                out[0][i] = u32{finish_half({static_cast<u16>(out[0][i])}, omod, clamp, wave.mode).bits} | (u32{finish_half({static_cast<u16>(out[0][i] >> 16U)}, omod, clamp, wave.mode).bits} << 16U);
            } else if (type == Type::pk_f32) {
                out[0][i] = bits<u32>(clamped(bits<f32>(out[0][i]), clamp));
                out[1][i] = bits<u32>(clamped(bits<f32>(out[1][i]), clamp));
            } else if (type == Type::f64) {
                const u64 b = bits<u64>(clamped(scaled(bits<f64>(u64{out[0][i]} | (u64{out[1][i]} << 32U)), omod), clamp));
                out[0][i] = static_cast<u32>(b);
                out[1][i] = static_cast<u32>(b >> 32U);
            }
        }
    }
    u32* to = wave.vgpr[in.destination[0].index];
    const bool half = type == Type::f16 || type == Type::b16;
    if (m.dst_select != 6) {
        const u32 shift = m.dst_select < 4 ? 8U * m.dst_select : 16U * (m.dst_select - 4U);
        const u32 field = m.dst_select < 4 ? 0xffU : 0xffffU;
        for (int i = 0; i < kLanes; ++i) {
            const u32 value = (out[0][i] & field) << shift;
            u32 rest = 0;
            if (m.dst_unused == 2) rest = to[i] & ~(field << shift);
            if (m.dst_unused == 1 && (out[0][i] & ((field >> 1U) + 1U)) != 0) rest = ~((field << shift) | ((1U << shift) - 1U));
            out[0][i] = value | rest;
        }
    } else if (half && (m.op_sel & 8U) != 0) {
        for (int i = 0; i < kLanes; ++i) out[0][i] = (to[i] & 0xffffU) | (out[0][i] << 16U);
    } else if (half && in.keeps_high) {
        for (int i = 0; i < kLanes; ++i) out[0][i] = (to[i] & 0xffff0000U) | (out[0][i] & 0xffffU);
    }
    blend(to, out[0], active);
    if (dwords == 2) blend(wave.vgpr[in.destination[0].index + 1], out[1], active);
}

Step fault(Wave& wave, FaultKind kind, u64 address, u32 bytes, int lane, bool write) {
    return isa::raise(wave, kind, address, bytes, lane, write);
}

}  // namespace hipscope::HIPSCOPE_ISA
