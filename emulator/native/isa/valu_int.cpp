// 32- and 64-bit integer arithmetic, shifts, logic, moves and selects (manual sections 12.7, 12.8, 12.11).
#include "isa/families.hpp"
#include "isa/forms.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

using Sum = WithMask<u32>;
HIPSCOPE_INLINE Sum add_carry(u32 a, u32 b, bool in) {
    const u32 s = a + b, r = s + static_cast<u32>(in);
    return {r, s < a || r < s};
}
HIPSCOPE_INLINE Sum sub_borrow(u32 a, u32 b, bool in) {
    const u32 d = a - b, r = d - static_cast<u32>(in);
    return {r, a < b || d < static_cast<u32>(in)};
}
HIPSCOPE_INLINE u32 low24(u32 a) { return a & 0xffffffU; }
HIPSCOPE_INLINE i32 signed24(u32 a) { return static_cast<i32>(a << 8U) >> 8; }
HIPSCOPE_INLINE u32 mul_hi(u32 a, u32 b) { return static_cast<u32>((u64{a} * b) >> 32U); }
HIPSCOPE_INLINE i32 mul_hi(i32 a, i32 b) { return static_cast<i32>((i64{a} * b) >> 32); }
HIPSCOPE_INLINE u32 field(u32 a, u32 offset, u32 width) { return (a >> (offset & 31U)) & ((1U << (width & 31U)) - 1U); }
// The sign is repeated above bit 31 before the field is cut out, so a field that reaches beyond it is signed too.
HIPSCOPE_INLINE i32 signed_field(i32 a, u32 offset, u32 width) {
    const u32 n = width & 31U, part = static_cast<u32>(a >> (offset & 31U)) & ((1U << n) - 1U);
    const u32 sign = n == 0 ? 0U : 1U << (n - 1U);
    return static_cast<i32>((part ^ sign) - sign);
}
template <class T>
HIPSCOPE_INLINE T median(T a, T b, T c) { return larger(smaller(a, b), smaller(larger(a, b), c)); }
HIPSCOPE_INLINE u32 distance(u32 a, u32 b) { return a > b ? a - b : b - a; }
HIPSCOPE_INLINE u32 byte_of(u32 a, u32 n) { return (a >> (8U * n)) & 0xffU; }
HIPSCOPE_INLINE u32 sum_of_byte_distances(u32 a, u32 b) {
    return distance(byte_of(a, 0), byte_of(b, 0)) + distance(byte_of(a, 1), byte_of(b, 1)) + distance(byte_of(a, 2), byte_of(b, 2)) + distance(byte_of(a, 3), byte_of(b, 3));
}
u32 masked_byte_distances(u32 a, u32 b) {
    u32 total = 0;
    for (u32 n = 0; n < 4; ++n) total += byte_of(b, n) == 0 ? 0 : distance(byte_of(a, n), byte_of(b, n));
    return total;
}
u32 permuted_byte(u64 data, u32 select) {
    if (select >= 13) return 0xff;
    if (select == 12) return 0;
    if (select >= 8) return ((data >> (16U * (select - 8U) + 15U)) & 1U) != 0 ? 0xff : 0;
    return static_cast<u32>(data >> (8U * select)) & 0xffU;
}
u32 permute_bytes(u32 a, u32 b, u32 select) {
    const u64 data = (u64{a} << 32U) | b;
    u32 result = 0;
    for (u32 n = 0; n < 4; ++n) result |= permuted_byte(data, byte_of(select, n)) << (8U * n);
    return result;
}
HIPSCOPE_INLINE u32 reversed(u32 x) {
    x = ((x >> 1U) & 0x55555555U) | ((x & 0x55555555U) << 1U);
    x = ((x >> 2U) & 0x33333333U) | ((x & 0x33333333U) << 2U);
    x = ((x >> 4U) & 0x0f0f0f0fU) | ((x & 0x0f0f0f0fU) << 4U);
    x = ((x >> 8U) & 0x00ff00ffU) | ((x & 0x00ff00ffU) << 8U);
    return (x >> 16U) | (x << 16U);
}
HIPSCOPE_INLINE u32 bit_count(u32 x) {
    x = x - ((x >> 1U) & 0x55555555U);
    x = (x & 0x33333333U) + ((x >> 2U) & 0x33333333U);
    return (((x + (x >> 4U)) & 0x0f0f0f0fU) * 0x01010101U) >> 24U;
}
u32 lerp(u32 a, u32 b, u32 round) {
    u32 result = 0;
    for (u32 n = 0; n < 4; ++n) result |= ((byte_of(a, n) + byte_of(b, n) + (byte_of(round, n) & 1U)) >> 1U) << (8U * n);
    return result;
}
/// Product of 32-bit factors plus a 64-bit addend, and whether the sum left 64 bits.
WithMask<u64> mad_wide(u32 a, u32 b, u64 c) {
    const u64 p = u64{a} * b, r = p + c;
    return {r, r < p};
}
WithMask<i64> mad_wide(i32 a, i32 b, i64 c) {
    i64 r = 0;
    const bool overflow = __builtin_add_overflow(i64{a} * b, c, &r);
    return {r, overflow};
}
u32 saturated(u64 wide) { return wide > 0xffffffffU ? 0xffffffffU : static_cast<u32>(wide); }
u64 quad_sad(u64 a, u32 b, u64 c, bool masked) {
    u64 result = 0;
    for (u32 n = 0; n < 4; ++n) {
        const u32 window = static_cast<u32>(a >> (8U * n));
        const u32 sad = masked ? masked_byte_distances(window, b) : sum_of_byte_distances(window, b);
        result |= ((sad + (c >> (16U * n))) & 0xffffU) << (16U * n);
    }
    return result;
}

/// v_mqsad_u32_u8: four masked distances of sliding windows, each added to its own dword.
Step masked_quad_sad(Wave& w, const Instruction& in) {
    RowBuffer pair, reference;
    u64 active = w.exec();
    const Row a = fetch<u64>(w, in, 0, pair, active), b = fetch<u32>(w, in, 1, reference, active);
    const Operand& c = in.source[2];
    const bool registers = c.kind == OperandKind::vgpr || c.kind == OperandKind::agpr;
    u32(*to)[kLanes] = w.vgpr + in.destination[0].index;
    for (u64 left = active; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        const u64 bytes = u64{a.lo[lane]} | (u64{a.hi[lane]} << 32U);
        u32 sum[4];
        for (u32 n = 0; n < 4; ++n) sum[n] = masked_byte_distances(static_cast<u32>(bytes >> (8U * n)), b.lo[lane]) + (registers ? w.vgpr[c.index + n][lane] : n == 0 ? scalar32(w, c) : 0U);
        for (u32 n = 0; n < 4; ++n) to[n][lane] = sum[n];
    }
    return Step::next;
}

}  // namespace

Table valu_int() {
    static constexpr Entry rows[] = {
        common_op("v_mov_b32", Unit::valu, [](u32 a) { return a; }),
        op("v_mov_b64", Unit::valu, [](u64 a) { return a; }),
        op("v_not_b32", Unit::valu, [](u32 a) { return ~a; }),
        op("v_bfrev_b32", Unit::valu, [](u32 a) { return reversed(a); }),
        op("v_ffbh_u32", Unit::valu, [](u32 a) { return a == 0 ? ~0U : static_cast<u32>(std::countl_zero(a)); }),
        op("v_ffbl_b32", Unit::valu, [](u32 a) { return a == 0 ? ~0U : static_cast<u32>(std::countr_zero(a)); }),
        op("v_ffbh_i32", Unit::valu, [](i32 a) { const u32 x = static_cast<u32>(a ^ (a >> 31)); return x == 0 ? ~0U : static_cast<u32>(std::countl_zero(x)); }),
        common_op("v_cndmask_b32", Unit::valu, [](u32 a, u32 b, bool choose) { return choose ? b : a; }),
        common_op("v_add_u32", Unit::valu, [](u32 a, u32 b) { return a + b; }),
        common_op("v_sub_u32", Unit::valu, [](u32 a, u32 b) { return a - b; }),
        common_op("v_subrev_u32", Unit::valu, [](u32 a, u32 b) { return b - a; }),
        op("v_add_i32", Unit::valu, [](u32 a, u32 b) { return a + b; }),
        op("v_sub_i32", Unit::valu, [](u32 a, u32 b) { return a - b; }),
        op("v_add_u32_clamp", Unit::valu, [](u32 a, u32 b) { return a + b < a ? ~0U : a + b; }),
        op("v_sub_u32_clamp", Unit::valu, [](u32 a, u32 b) { return a < b ? 0U : a - b; }),
        op("v_subrev_u32_clamp", Unit::valu, [](u32 a, u32 b) { return b < a ? 0U : b - a; }),
        op("v_add_i32_clamp", Unit::valu, [](i32 a, i32 b) { const i64 s = i64{a} + b; return static_cast<i32>(s > 0x7fffffff ? 0x7fffffff : s < -0x80000000LL ? -0x80000000LL : s); }),
        op("v_sub_i32_clamp", Unit::valu, [](i32 a, i32 b) { const i64 s = i64{a} - b; return static_cast<i32>(s > 0x7fffffff ? 0x7fffffff : s < -0x80000000LL ? -0x80000000LL : s); }),
        common_op("v_add_co_u32", Unit::valu, [](u32 a, u32 b) { return add_carry(a, b, false); }),
        op("v_sub_co_u32", Unit::valu, [](u32 a, u32 b) { return sub_borrow(a, b, false); }),
        op("v_subrev_co_u32", Unit::valu, [](u32 a, u32 b) { return sub_borrow(b, a, false); }),
        common_op("v_addc_co_u32", Unit::valu, [](u32 a, u32 b, bool c) { return add_carry(a, b, c); }),
        op("v_subb_co_u32", Unit::valu, [](u32 a, u32 b, bool c) { return sub_borrow(a, b, c); }),
        op("v_subbrev_co_u32", Unit::valu, [](u32 a, u32 b, bool c) { return sub_borrow(b, a, c); }),
        common_op("v_and_b32", Unit::valu, [](u32 a, u32 b) { return a & b; }),
        common_op("v_or_b32", Unit::valu, [](u32 a, u32 b) { return a | b; }),
        common_op("v_xor_b32", Unit::valu, [](u32 a, u32 b) { return a ^ b; }),
        op("v_xnor_b32", Unit::valu, [](u32 a, u32 b) { return ~(a ^ b); }),
        common_op("v_lshlrev_b32", Unit::valu, [](u32 n, u32 a) { return a << (n & 31U); }),
        common_op("v_lshrrev_b32", Unit::valu, [](u32 n, u32 a) { return a >> (n & 31U); }),
        common_op("v_ashrrev_i32", Unit::valu, [](u32 n, i32 a) { return a >> (n & 31U); }),
        common_op("v_lshlrev_b64", Unit::valu, [](u32 n, u64 a) { return a << (n & 63U); }),
        op("v_lshrrev_b64", Unit::valu, [](u32 n, u64 a) { return a >> (n & 63U); }),
        op("v_ashrrev_i64", Unit::valu, [](u32 n, i64 a) { return a >> (n & 63U); }),
        common_op("v_min_u32", Unit::valu, [](u32 a, u32 b) { return smaller(a, b); }),
        common_op("v_max_u32", Unit::valu, [](u32 a, u32 b) { return larger(a, b); }),
        common_op("v_min_i32", Unit::valu, [](i32 a, i32 b) { return smaller(a, b); }),
        common_op("v_max_i32", Unit::valu, [](i32 a, i32 b) { return larger(a, b); }),
        op("v_min3_u32", Unit::valu, [](u32 a, u32 b, u32 c) { return smaller(smaller(a, b), c); }),
        op("v_max3_u32", Unit::valu, [](u32 a, u32 b, u32 c) { return larger(larger(a, b), c); }),
        op("v_med3_u32", Unit::valu, [](u32 a, u32 b, u32 c) { return median(a, b, c); }),
        op("v_min3_i32", Unit::valu, [](i32 a, i32 b, i32 c) { return smaller(smaller(a, b), c); }),
        op("v_max3_i32", Unit::valu, [](i32 a, i32 b, i32 c) { return larger(larger(a, b), c); }),
        op("v_med3_i32", Unit::valu, [](i32 a, i32 b, i32 c) { return median(a, b, c); }),
        common_op("v_mul_lo_u32", Unit::valu_half, [](u32 a, u32 b) { return a * b; }),
        op("v_mul_hi_u32", Unit::valu_half, [](u32 a, u32 b) { return mul_hi(a, b); }),
        op("v_mul_hi_i32", Unit::valu_half, [](i32 a, i32 b) { return mul_hi(a, b); }),
        op("v_mul_u32_u24", Unit::valu, [](u32 a, u32 b) { return low24(a) * low24(b); }),
        op("v_mul_i32_i24", Unit::valu, [](u32 a, u32 b) { return static_cast<u32>(signed24(a)) * static_cast<u32>(signed24(b)); }),
        op("v_mul_hi_u32_u24", Unit::valu, [](u32 a, u32 b) { return mul_hi(low24(a), low24(b)); }),
        op("v_mul_hi_i32_i24", Unit::valu, [](u32 a, u32 b) { return mul_hi(signed24(a), signed24(b)); }),
        op("v_mad_u32_u24", Unit::valu, [](u32 a, u32 b, u32 c) { return low24(a) * low24(b) + c; }),
        op("v_mad_i32_i24", Unit::valu, [](u32 a, u32 b, u32 c) { return static_cast<u32>(signed24(a)) * static_cast<u32>(signed24(b)) + c; }),
        op("v_mad_u32_u16", Unit::valu, [](u16 a, u16 b, u32 c) { return u32{a} * u32{b} + c; }),
        op("v_mad_i32_i16", Unit::valu, [](i16 a, i16 b, u32 c) { return static_cast<u32>(i32{a} * i32{b}) + c; }),
        op("v_mad_u32_u24_clamp", Unit::valu, [](u32 a, u32 b, u32 c) { return saturated(u64{low24(a)} * low24(b) + c); }),
        op("v_mad_u64_u32", Unit::valu_half, [](u32 a, u32 b, u64 c) { return mad_wide(a, b, c); }),
        op("v_mad_i64_i32", Unit::valu_half, [](i32 a, i32 b, i64 c) { return mad_wide(a, b, c); }),
        common_op("v_lshl_add_u32", Unit::valu, [](u32 a, u32 n, u32 c) { return (a << (n & 31U)) + c; }),
        common_op("v_lshl_add_u64", Unit::valu, [](u64 a, u32 n, u64 c) { return (a << (n & 7U)) + c; }),
        op("v_add_lshl_u32", Unit::valu, [](u32 a, u32 b, u32 n) { return (a + b) << (n & 31U); }),
        common_op("v_add3_u32", Unit::valu, [](u32 a, u32 b, u32 c) { return a + b + c; }),
        common_op("v_lshl_or_b32", Unit::valu, [](u32 a, u32 n, u32 c) { return (a << (n & 31U)) | c; }),
        common_op("v_and_or_b32", Unit::valu, [](u32 a, u32 b, u32 c) { return (a & b) | c; }),
        op("v_or3_b32", Unit::valu, [](u32 a, u32 b, u32 c) { return a | b | c; }),
        op("v_xad_u32", Unit::valu, [](u32 a, u32 b, u32 c) { return (a ^ b) + c; }),
        common_op("v_bfe_u32", Unit::valu, [](u32 a, u32 offset, u32 width) { return field(a, offset, width); }),
        op("v_bfe_i32", Unit::valu, [](i32 a, u32 offset, u32 width) { return signed_field(a, offset, width); }),
        op("v_bfi_b32", Unit::valu, [](u32 mask, u32 a, u32 b) { return (mask & a) | (~mask & b); }),
        op("v_bfm_b32", Unit::valu, [](u32 width, u32 offset) { return ((1U << (width & 31U)) - 1U) << (offset & 31U); }),
        op("v_alignbit_b32", Unit::valu, [](u32 hi, u32 lo, u32 n) { return static_cast<u32>(((u64{hi} << 32U) | lo) >> (n & 31U)); }),
        op("v_alignbyte_b32", Unit::valu, [](u32 hi, u32 lo, u32 n) { return static_cast<u32>(((u64{hi} << 32U) | lo) >> (8U * (n & 3U))); }),
        op("v_perm_b32", Unit::valu, [](u32 a, u32 b, u32 select) { return permute_bytes(a, b, select); }),
        op("v_bcnt_u32_b32", Unit::valu, [](u32 a, u32 b) { return bit_count(a) + b; }),
        op("v_lerp_u8", Unit::valu, [](u32 a, u32 b, u32 c) { return lerp(a, b, c); }),
        op("v_sad_u8", Unit::valu, [](u32 a, u32 b, u32 c) { return sum_of_byte_distances(a, b) + c; }),
        op("v_sad_hi_u8", Unit::valu, [](u32 a, u32 b, u32 c) { return (sum_of_byte_distances(a, b) << 16U) + c; }),
        op("v_sad_u16", Unit::valu, [](u32 a, u32 b, u32 c) { return distance(a & 0xffffU, b & 0xffffU) + distance(a >> 16U, b >> 16U) + c; }),
        op("v_sad_u32", Unit::valu, [](u32 a, u32 b, u32 c) { return distance(a, b) + c; }),
        op("v_msad_u8", Unit::valu, [](u32 a, u32 b, u32 c) { return masked_byte_distances(a, b) + c; }),
        op("v_qsad_pk_u16_u8", Unit::valu_half, [](u64 a, u32 b, u64 c) { return quad_sad(a, b, c, false); }),
        special("v_mqsad_u32_u8", Unit::valu_half, 1, {Type::b64, Type::b32, Type::wide}, [](Wave& w, const Instruction& in) { return masked_quad_sad(w, in); }),
        op("v_mqsad_pk_u16_u8", Unit::valu_half, [](u64 a, u32 b, u64 c) { return quad_sad(a, b, c, true); }),
    };
    return rows;
}

}  // namespace hipscope::HIPSCOPE_ISA
