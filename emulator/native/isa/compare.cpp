// Vector comparisons (VOPC, manual section 12.10): every lane gives one bit of an SGPR pair.
// v_cmpx_* uses the rows of v_cmp_*; the decoder sets Instruction::extra, which also writes EXEC.
#include "isa/families.hpp"
#include "isa/forms.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

/// The class of a number as a bit of v_cmp_class's mask: NaNs, -inf, -normal, -denormal, -0, +0, +denormal, +normal, +inf.
template <class U, U exponent_mask, U quiet_bit, U sign>
HIPSCOPE_INLINE u32 number_class(U x) {
    constexpr U smallest_normal = exponent_mask & (0U - exponent_mask);
    const U magnitude = x & static_cast<U>(~sign);
    const auto bit = [](bool is, u32 place) { return static_cast<u32>(is) << place; };  // no choices, so that loops vectorize
    const bool zero = magnitude == 0, infinite = magnitude == exponent_mask, nan = magnitude > exponent_mask;
    const bool denormal = (magnitude < smallest_normal) & !zero, normal = (magnitude >= smallest_normal) & (magnitude < exponent_mask);
    const u32 above = bit(zero, 6) | bit(denormal, 7) | bit(normal, 8) | bit(infinite, 9);
    const u32 below = bit(zero, 5) | bit(denormal, 4) | bit(normal, 3) | bit(infinite, 2);
    const u32 negative = 0U - static_cast<u32>((x & sign) != 0);
    const bool quiet = (x & quiet_bit) != 0;
    return (below & negative) | (above & ~negative) | bit(nan & !quiet, 0) | bit(nan & quiet, 1);
}
HIPSCOPE_INLINE u32 class_of(f32 x) { return number_class<u32, 0x7f800000U, 0x00400000U, 0x80000000U>(bits<u32>(x)); }
HIPSCOPE_INLINE u32 class_of(f64 x) { return number_class<u64, 0x7ff0000000000000ULL, 0x0008000000000000ULL, 0x8000000000000000ULL>(bits<u64>(x)); }
HIPSCOPE_INLINE u32 class_of(f16 x) { return number_class<u32, 0x7c00U, 0x0200U, 0x8000U>(x.bits); }

}  // namespace

Table compare() {
    static constexpr Entry rows[] = {
        common_op("v_cmp_class_f32", Unit::valu, [](f32 a, u32 mask) { return (class_of(a) & mask) != 0; }),
        op("v_cmp_class_f64", Unit::valu, [](f64 a, u32 mask) { return (class_of(a) & mask) != 0; }),
        op("v_cmp_class_f16", Unit::valu, [](f16 a, u32 mask) { return (class_of(a) & mask) != 0; }),
        // f32
        op("v_cmp_f_f32", Unit::valu, [](f32, f32) { return false; }),
        common_op("v_cmp_lt_f32", Unit::valu, [](f32 a, f32 b) { return a < b; }),
        common_op("v_cmp_eq_f32", Unit::valu, [](f32 a, f32 b) { return a == b; }),
        common_op("v_cmp_le_f32", Unit::valu, [](f32 a, f32 b) { return a <= b; }),
        common_op("v_cmp_gt_f32", Unit::valu, [](f32 a, f32 b) { return a > b; }),
        common_op("v_cmp_lg_f32", Unit::valu, [](f32 a, f32 b) { return a < b || a > b; }),
        common_op("v_cmp_ge_f32", Unit::valu, [](f32 a, f32 b) { return a >= b; }),
        op("v_cmp_o_f32", Unit::valu, [](f32 a, f32 b) { return a == a && b == b; }),
        op("v_cmp_u_f32", Unit::valu, [](f32 a, f32 b) { return a != a || b != b; }),
        common_op("v_cmp_nge_f32", Unit::valu, [](f32 a, f32 b) { return !(a >= b); }),
        op("v_cmp_nlg_f32", Unit::valu, [](f32 a, f32 b) { return !(a < b || a > b); }),
        common_op("v_cmp_ngt_f32", Unit::valu, [](f32 a, f32 b) { return !(a > b); }),
        common_op("v_cmp_nle_f32", Unit::valu, [](f32 a, f32 b) { return !(a <= b); }),
        common_op("v_cmp_neq_f32", Unit::valu, [](f32 a, f32 b) { return !(a == b); }),
        common_op("v_cmp_nlt_f32", Unit::valu, [](f32 a, f32 b) { return !(a < b); }),
        op("v_cmp_tru_f32", Unit::valu, [](f32, f32) { return true; }),
        // f64
        op("v_cmp_f_f64", Unit::valu, [](f64, f64) { return false; }),
        op("v_cmp_lt_f64", Unit::valu, [](f64 a, f64 b) { return a < b; }),
        op("v_cmp_eq_f64", Unit::valu, [](f64 a, f64 b) { return a == b; }),
        op("v_cmp_le_f64", Unit::valu, [](f64 a, f64 b) { return a <= b; }),
        op("v_cmp_gt_f64", Unit::valu, [](f64 a, f64 b) { return a > b; }),
        op("v_cmp_lg_f64", Unit::valu, [](f64 a, f64 b) { return a < b || a > b; }),
        op("v_cmp_ge_f64", Unit::valu, [](f64 a, f64 b) { return a >= b; }),
        op("v_cmp_o_f64", Unit::valu, [](f64 a, f64 b) { return a == a && b == b; }),
        op("v_cmp_u_f64", Unit::valu, [](f64 a, f64 b) { return a != a || b != b; }),
        op("v_cmp_nge_f64", Unit::valu, [](f64 a, f64 b) { return !(a >= b); }),
        op("v_cmp_nlg_f64", Unit::valu, [](f64 a, f64 b) { return !(a < b || a > b); }),
        op("v_cmp_ngt_f64", Unit::valu, [](f64 a, f64 b) { return !(a > b); }),
        op("v_cmp_nle_f64", Unit::valu, [](f64 a, f64 b) { return !(a <= b); }),
        op("v_cmp_neq_f64", Unit::valu, [](f64 a, f64 b) { return !(a == b); }),
        op("v_cmp_nlt_f64", Unit::valu, [](f64 a, f64 b) { return !(a < b); }),
        op("v_cmp_tru_f64", Unit::valu, [](f64, f64) { return true; }),
        // f16
        op("v_cmp_f_f16", Unit::valu, [](f16, f16) { return false; }),
        op("v_cmp_lt_f16", Unit::valu, [](f16 a, f16 b) { const auto x = as_number(a), y = as_number(b); return x < y; }),
        op("v_cmp_eq_f16", Unit::valu, [](f16 a, f16 b) { const auto x = as_number(a), y = as_number(b); return x == y; }),
        op("v_cmp_le_f16", Unit::valu, [](f16 a, f16 b) { const auto x = as_number(a), y = as_number(b); return x <= y; }),
        op("v_cmp_gt_f16", Unit::valu, [](f16 a, f16 b) { const auto x = as_number(a), y = as_number(b); return x > y; }),
        op("v_cmp_lg_f16", Unit::valu, [](f16 a, f16 b) { const auto x = as_number(a), y = as_number(b); return x < y || x > y; }),
        op("v_cmp_ge_f16", Unit::valu, [](f16 a, f16 b) { const auto x = as_number(a), y = as_number(b); return x >= y; }),
        op("v_cmp_o_f16", Unit::valu, [](f16 a, f16 b) { const auto x = as_number(a), y = as_number(b); return x == x && y == y; }),
        op("v_cmp_u_f16", Unit::valu, [](f16 a, f16 b) { const auto x = as_number(a), y = as_number(b); return x != x || y != y; }),
        op("v_cmp_nge_f16", Unit::valu, [](f16 a, f16 b) { const auto x = as_number(a), y = as_number(b); return !(x >= y); }),
        op("v_cmp_nlg_f16", Unit::valu, [](f16 a, f16 b) { const auto x = as_number(a), y = as_number(b); return !(x < y || x > y); }),
        op("v_cmp_ngt_f16", Unit::valu, [](f16 a, f16 b) { const auto x = as_number(a), y = as_number(b); return !(x > y); }),
        op("v_cmp_nle_f16", Unit::valu, [](f16 a, f16 b) { const auto x = as_number(a), y = as_number(b); return !(x <= y); }),
        op("v_cmp_neq_f16", Unit::valu, [](f16 a, f16 b) { const auto x = as_number(a), y = as_number(b); return !(x == y); }),
        op("v_cmp_nlt_f16", Unit::valu, [](f16 a, f16 b) { const auto x = as_number(a), y = as_number(b); return !(x < y); }),
        op("v_cmp_tru_f16", Unit::valu, [](f16, f16) { return true; }),
        // i32
        op("v_cmp_f_i32", Unit::valu, [](i32, i32) { return false; }),
        common_op("v_cmp_lt_i32", Unit::valu, [](i32 a, i32 b) { return a < b; }),
        common_op("v_cmp_eq_i32", Unit::valu, [](i32 a, i32 b) { return a == b; }),
        common_op("v_cmp_le_i32", Unit::valu, [](i32 a, i32 b) { return a <= b; }),
        common_op("v_cmp_gt_i32", Unit::valu, [](i32 a, i32 b) { return a > b; }),
        common_op("v_cmp_ne_i32", Unit::valu, [](i32 a, i32 b) { return a != b; }),
        common_op("v_cmp_ge_i32", Unit::valu, [](i32 a, i32 b) { return a >= b; }),
        op("v_cmp_t_i32", Unit::valu, [](i32, i32) { return true; }),
        // u32
        op("v_cmp_f_u32", Unit::valu, [](u32, u32) { return false; }),
        common_op("v_cmp_lt_u32", Unit::valu, [](u32 a, u32 b) { return a < b; }),
        common_op("v_cmp_eq_u32", Unit::valu, [](u32 a, u32 b) { return a == b; }),
        common_op("v_cmp_le_u32", Unit::valu, [](u32 a, u32 b) { return a <= b; }),
        common_op("v_cmp_gt_u32", Unit::valu, [](u32 a, u32 b) { return a > b; }),
        common_op("v_cmp_ne_u32", Unit::valu, [](u32 a, u32 b) { return a != b; }),
        common_op("v_cmp_ge_u32", Unit::valu, [](u32 a, u32 b) { return a >= b; }),
        op("v_cmp_t_u32", Unit::valu, [](u32, u32) { return true; }),
        // i64
        op("v_cmp_f_i64", Unit::valu, [](i64, i64) { return false; }),
        op("v_cmp_lt_i64", Unit::valu, [](i64 a, i64 b) { return a < b; }),
        op("v_cmp_eq_i64", Unit::valu, [](i64 a, i64 b) { return a == b; }),
        op("v_cmp_le_i64", Unit::valu, [](i64 a, i64 b) { return a <= b; }),
        op("v_cmp_gt_i64", Unit::valu, [](i64 a, i64 b) { return a > b; }),
        op("v_cmp_ne_i64", Unit::valu, [](i64 a, i64 b) { return a != b; }),
        op("v_cmp_ge_i64", Unit::valu, [](i64 a, i64 b) { return a >= b; }),
        op("v_cmp_t_i64", Unit::valu, [](i64, i64) { return true; }),
        // u64
        op("v_cmp_f_u64", Unit::valu, [](u64, u64) { return false; }),
        op("v_cmp_lt_u64", Unit::valu, [](u64 a, u64 b) { return a < b; }),
        op("v_cmp_eq_u64", Unit::valu, [](u64 a, u64 b) { return a == b; }),
        op("v_cmp_le_u64", Unit::valu, [](u64 a, u64 b) { return a <= b; }),
        op("v_cmp_gt_u64", Unit::valu, [](u64 a, u64 b) { return a > b; }),
        op("v_cmp_ne_u64", Unit::valu, [](u64 a, u64 b) { return a != b; }),
        op("v_cmp_ge_u64", Unit::valu, [](u64 a, u64 b) { return a >= b; }),
        op("v_cmp_t_u64", Unit::valu, [](u64, u64) { return true; }),
        // i16
        op("v_cmp_f_i16", Unit::valu, [](i16, i16) { return false; }),
        op("v_cmp_lt_i16", Unit::valu, [](i16 a, i16 b) { return a < b; }),
        op("v_cmp_eq_i16", Unit::valu, [](i16 a, i16 b) { return a == b; }),
        op("v_cmp_le_i16", Unit::valu, [](i16 a, i16 b) { return a <= b; }),
        op("v_cmp_gt_i16", Unit::valu, [](i16 a, i16 b) { return a > b; }),
        op("v_cmp_ne_i16", Unit::valu, [](i16 a, i16 b) { return a != b; }),
        op("v_cmp_ge_i16", Unit::valu, [](i16 a, i16 b) { return a >= b; }),
        op("v_cmp_t_i16", Unit::valu, [](i16, i16) { return true; }),
        // u16
        op("v_cmp_f_u16", Unit::valu, [](u16, u16) { return false; }),
        op("v_cmp_lt_u16", Unit::valu, [](u16 a, u16 b) { return a < b; }),
        op("v_cmp_eq_u16", Unit::valu, [](u16 a, u16 b) { return a == b; }),
        op("v_cmp_le_u16", Unit::valu, [](u16 a, u16 b) { return a <= b; }),
        op("v_cmp_gt_u16", Unit::valu, [](u16 a, u16 b) { return a > b; }),
        op("v_cmp_ne_u16", Unit::valu, [](u16 a, u16 b) { return a != b; }),
        op("v_cmp_ge_u16", Unit::valu, [](u16 a, u16 b) { return a >= b; }),
        op("v_cmp_t_u16", Unit::valu, [](u16, u16) { return true; }),
    };
    return rows;
}

}  // namespace hipscope::HIPSCOPE_ISA
