// What gfx950 adds to the vector ALU and LDS beside small floats: bitwise functions of three operands, bfloat16, IEEE
// 754-2019 minimum and maximum, exchanges between halves of the wave, transposing reads (manual of CDNA 4, chapter 12).
#include "isa/access.hpp"
#include "isa/families.hpp"
#include "isa/lanes.hpp"
#include "isa/small_float.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

/// Any function of three bits: bit (a, b, c) of the table. The decoder puts the table into Instruction::target.
u32 bit_function(u32 table, u32 a, u32 b, u32 c) {
    u32 result = 0;
    for (u32 n = 0; n < 8; ++n) {
        const u32 term = ((n & 4U) != 0 ? a : ~a) & ((n & 2U) != 0 ? b : ~b) & ((n & 1U) != 0 ? c : ~c);
        result |= ((table >> n) & 1U) != 0 ? term : 0U;
    }
    return result;
}
template <class T>
Step bit_operation(Wave& w, const Instruction& in) {
    alignas(64) RowBuffer a, b, c, out;
    u64 active = w.exec();
    const Row x = fetch<T>(w, in, 0, a, active), y = fetch<T>(w, in, 1, b, active), z = fetch<T>(w, in, 2, c, active);
    for (int i = 0; i < kLanes; ++i) out[0][i] = static_cast<T>(bit_function(in.target, x.lo[i], y.lo[i], z.lo[i]));
    write_modified(w, in, out, 1, active, Lane<T>::type);
    return Step::next;
}

/// NaN when an operand is; -0 is less than +0.
template <bool least, class T>
HIPSCOPE_INLINE T extreme_or_nan(T a, T b) {
    const T r = extreme<least>(a, b);
    return is_nan(a) ? quiet(a) : is_nan(b) ? quiet(b) : r;
}
template <bool least, class T>
HIPSCOPE_INLINE T extreme_or_nan(T a, T b, T c) { return extreme_or_nan<least>(extreme_or_nan<least>(a, b), c); }
template <bool least>
HIPSCOPE_INLINE f16x2 extremes_or_nan(f16x2 a, f16x2 b, f16x2 c) { return {extreme_or_nan<least>(a.lo, b.lo, c.lo), extreme_or_nan<least>(a.hi, b.hi, c.hi)}; }

HIPSCOPE_INLINE u32 limited(i32 x, i32 low, i32 high) { return static_cast<u32>(x < low ? low : x > high ? high : x) & 0xffU; }

/// Noise as wide as the bits that go is added before they are cut off.
u16 noisy_bfloat(f32 x, u32 noise) {
    const u32 b = bits<u32>(x);
    if (is_nan(x)) return static_cast<u16>((b >> 16U) | 0x40U);
    if (std::isinf(x)) return static_cast<u16>(b >> 16U);
    return static_cast<u16>((b + (noise >> 16U)) >> 16U);
}
u16 noisy_half(f32 x, u32 noise) {
    using Half = SmallFloat<16, 10, 15, Special::ieee>;
    return is_nan(x) ? narrow(x).bits : static_cast<u16>(to_small<Half>(static_cast<f64>(x), {false, true, noise}));
}

/// The rows of 16 or halves of 32 lanes with odd numbers in the destination change places with the even ones of the source.
/// EXEC keeps lanes from being written, not from being read.
template <int width>
Step swap_rows(Wave& w, const Instruction& in) {
    u32* to = w.vgpr[in.destination[0].index];
    u32* from = w.vgpr[in.source[0].index];
    const u64 active = w.exec();
    for (int first = 0; first < kLanes; first += 2 * width) {
        for (int i = first; i < first + width; ++i) {
            const u32 upper = to[i + width], lower = from[i];
            if (((active >> static_cast<u32>(i)) & 1U) != 0) from[i] = upper;
            if (((active >> static_cast<u32>(i + width)) & 1U) != 0) to[i + width] = lower;
        }
    }
    return Step::next;
}

/// ds_read_b*_tr_b*: sixteen lanes read the rows of a matrix that has 16 columns of `bits` each, and get its columns.
template <u32 bits, u32 bytes>
Step read_transposed(Wave& w, const Instruction& in) {
    constexpr u32 columns = bytes * 8 / bits;      // of one lane
    constexpr u32 lanes_per_row = 16 / columns;
    const u64 active = w.exec();
    const u32* base = w.vgpr[in.source[0].index];
    u32 data[kLanes][4] = {};
    for (u64 left = active; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        const u64 address = static_cast<u32>(base[lane] + static_cast<u32>(in.modifiers.offset));
        w.access.address[0][lane] = address;
        if (address + bytes > w.lds_bytes) return fault(w, FaultKind::out_of_bounds, address, bytes, lane, false);
        std::memcpy(data[lane], w.lds + address, bytes);
    }
    record(w, Space::lds, AccessKind::load, bytes, active);
    for (u64 left = active; left != 0; left &= left - 1) {
        const u32 lane = static_cast<u32>(std::countr_zero(left)), column = lane % 16;
        u32 result[4] = {};
        for (u32 k = 0; k < columns; ++k) {
            const u32 from = (lane & ~15U) + k * lanes_per_row + column / columns, at = column % columns * bits, to = k * bits;
            const u64 pair = u64{data[from][at / 32]} | (u64{data[from][at / 32 + 1]} << 32U);
            const u64 value = (pair >> (at % 32)) & ((1U << bits) - 1U);
            result[to / 32] |= static_cast<u32>(value << (to % 32));
            if (to % 32 + bits > 32) result[to / 32 + 1] |= static_cast<u32>(value >> (32U - to % 32));
        }
        for (u32 n = 0; n < bytes / 4; ++n) w.vgpr[in.destination[0].index + n][lane] = result[n];
    }
    return Step::next;
}

}  // namespace

Table valu_gfx950() {
    static constexpr Entry rows[] = {
        special("v_bitop3_b32", Unit::valu, 1, {Type::b32, Type::b32, Type::b32}, [](Wave& w, const Instruction& in) { return bit_operation<u32>(w, in); }).of_truth_table(),
        special("v_bitop3_b16", Unit::valu, 1, {Type::b16, Type::b16, Type::b16}, [](Wave& w, const Instruction& in) { return bit_operation<u16>(w, in); }).keep_high().of_truth_table(),
        op("v_prng_b32", Unit::valu, [](u32 a) { return next_random(a); }),
        op("v_ashr_pk_i8_i32", Unit::valu, [](i32 a, i32 b, u32 n) { return static_cast<u16>(limited(a >> (n & 31U), -128, 127) | limited(b >> (n & 31U), -128, 127) << 8U); }).keep_high(),
        op("v_ashr_pk_u8_i32", Unit::valu, [](i32 a, i32 b, u32 n) { return static_cast<u16>(limited(a >> (n & 31U), 0, 255) | limited(b >> (n & 31U), 0, 255) << 8U); }).keep_high(),
        mode_op("v_minimum3_f32", Unit::valu, [](auto, f32 a, f32 b, f32 c) { return extreme_or_nan<true>(a, b, c); }),
        mode_op("v_maximum3_f32", Unit::valu, [](auto, f32 a, f32 b, f32 c) { return extreme_or_nan<false>(a, b, c); }),
        mode_op("v_pk_minimum3_f16", Unit::valu, [](auto, f16x2 a, f16x2 b, f16x2 c) { return extremes_or_nan<true>(a, b, c); }),
        mode_op("v_pk_maximum3_f16", Unit::valu, [](auto, f16x2 a, f16x2 b, f16x2 c) { return extremes_or_nan<false>(a, b, c); }),

        op("v_cvt_f32_bf16", Unit::valu, [](u16 a) { return widen_bfloat(a); }),
        op("v_cvt_pk_bf16_f32", Unit::valu, [](f32 a, f32 b) { return narrow_bfloat(a) | (narrow_bfloat(b) << 16U); }),
        mode_op("v_cvt_pk_f16_f32", Unit::valu, [](auto m, f32 a, f32 b) { return f16x2{m.nearest(a), m.nearest(b)}; }),
        slow_op("v_cvt_sr_bf16_f32", Unit::valu, [](f32 a, u32 noise) { return noisy_bfloat(a, noise); }).keep_high(),
        slow_mode_op("v_cvt_sr_f16_f32", Unit::valu, [](auto m, f32 a, u32 noise) { return m.flushed(m.limited({noisy_half(a, noise)}, !std::isinf(a))).bits; }).keep_high(),
        op("v_dot2c_f32_bf16", Unit::valu, [](u16x2 a, u16x2 b, f32 c) { return fma(widen_bfloat(a.hi), widen_bfloat(b.hi), fma(widen_bfloat(a.lo), widen_bfloat(b.lo), c)); }).accumulate(),

        special("v_permlane16_swap_b32", Unit::valu, 1, {Type::b32}, [](Wave& w, const Instruction& in) { return swap_rows<16>(w, in); }),
        special("v_permlane32_swap_b32", Unit::valu, 1, {Type::b32}, [](Wave& w, const Instruction& in) { return swap_rows<32>(w, in); }),

        special("ds_read_b64_tr_b16", Unit::lds, 1, {Type::b32}, [](Wave& w, const Instruction& in) { return read_transposed<16, 8>(w, in); }),
        special("ds_read_b64_tr_b8", Unit::lds, 1, {Type::b32}, [](Wave& w, const Instruction& in) { return read_transposed<8, 8>(w, in); }),
        special("ds_read_b64_tr_b4", Unit::lds, 1, {Type::b32}, [](Wave& w, const Instruction& in) { return read_transposed<4, 8>(w, in); }),
        special("ds_read_b96_tr_b6", Unit::lds, 1, {Type::b32}, [](Wave& w, const Instruction& in) { return read_transposed<6, 12>(w, in); }),
    };
    return rows;
}

}  // namespace hipscope::HIPSCOPE_ISA
