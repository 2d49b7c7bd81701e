// Scalar ALU: SOP2, SOPK, SOP1, SOPC (manual sections 12.1-12.4).
#include "isa/families.hpp"
#include "isa/scalars.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

template <class T>
T logic(T value, bool& scc) {
    scc = value != 0;
    return value;
}
u64 save_exec(Wave& w, u64 exec) {
    const u64 old = w.exec();
    w.set_s64(sreg::exec, exec);
    w.scc = exec != 0;
    return old;
}
u64 write_exec(Wave& w, u64 exec) {
    w.set_s64(sreg::exec, exec);
    w.scc = exec != 0;
    return exec;
}
u32 sum(u64 wide, bool& scc) {
    scc = (wide >> 32U) != 0;
    return static_cast<u32>(wide);
}
template <class T, class B>
T bit_field(T value, B spec) {
    constexpr u32 width_bits = sizeof(T) * 8;
    const u32 offset = static_cast<u32>(spec) & (width_bits - 1);
    u32 width = (static_cast<u32>(spec) >> 16U) & 0x7fU;
    if (width == 0) return 0;
    if (width > width_bits) width = width_bits;
    using U = std::make_unsigned_t<T>;
    const U field = static_cast<U>(value) >> offset;
    if (width == width_bits) return static_cast<T>(std::is_signed_v<T> ? static_cast<U>(value >> offset) : field);
    const U part = field & ((U{1} << width) - 1);
    if constexpr (std::is_signed_v<T>) {
        if (width + offset < width_bits) return static_cast<T>(part << (width_bits - width)) >> (width_bits - width);
        return value >> offset;
    }
    return static_cast<T>(part);
}
template <class T>
u32 leading_different(T value) {  // position from the top of the first bit that differs from the sign
    const auto bits_to_find = static_cast<std::make_unsigned_t<T>>(value < 0 ? ~value : value);
    return bits_to_find == 0 ? ~0U : static_cast<u32>(std::countl_zero(bits_to_find));
}
template <class T>
T whole_quads(T mask) {
    T quads = mask | (mask >> 1U);
    quads |= quads >> 2U;
    quads &= static_cast<T>(0x1111111111111111ULL);
    return static_cast<T>(quads * 15U);
}
template <class T>
T reversed(T value) {
    T result = 0;
    for (u32 i = 0; i < sizeof(T) * 8; ++i) result |= ((value >> i) & T{1}) << (sizeof(T) * 8 - 1 - i);
    return result;
}

}  // namespace

Table salu() {
    static constexpr Entry rows[] = {
        // 12.1 SOP2
        sop("s_add_u32", [](u32 a, u32 b, bool& scc) { return sum(u64{a} + b, scc); }),
        sop("s_sub_u32", [](u32 a, u32 b, bool& scc) { scc = b > a; return a - b; }),
        sop("s_add_i32", [](u32 a, u32 b, bool& scc) { i32 r = 0; scc = __builtin_add_overflow(static_cast<i32>(a), static_cast<i32>(b), &r); return r; }),
        sop("s_sub_i32", [](u32 a, u32 b, bool& scc) { i32 r = 0; scc = __builtin_sub_overflow(static_cast<i32>(a), static_cast<i32>(b), &r); return r; }),
        sop("s_addc_u32", [](u32 a, u32 b, bool& scc) { return sum(u64{a} + b + u64{scc}, scc); }),
        sop("s_subb_u32", [](u32 a, u32 b, bool& scc) { const u64 take = u64{b} + u64{scc}; scc = take > a; return static_cast<u32>(a - take); }),
        sop("s_min_i32", [](i32 a, i32 b, bool& scc) { scc = a < b; return scc ? a : b; }),
        sop("s_min_u32", [](u32 a, u32 b, bool& scc) { scc = a < b; return scc ? a : b; }),
        sop("s_max_i32", [](i32 a, i32 b, bool& scc) { scc = a > b; return scc ? a : b; }),
        sop("s_max_u32", [](u32 a, u32 b, bool& scc) { scc = a > b; return scc ? a : b; }),
        sop("s_cselect_b32", [](u32 a, u32 b, bool& scc) { return scc ? a : b; }),
        sop("s_cselect_b64", [](u64 a, u64 b, bool& scc) { return scc ? a : b; }),
        sop("s_and_b32", [](u32 a, u32 b, bool& scc) { return logic(a & b, scc); }),
        sop("s_and_b64", [](u64 a, u64 b, bool& scc) { return logic(a & b, scc); }),
        sop("s_or_b32", [](u32 a, u32 b, bool& scc) { return logic(a | b, scc); }),
        sop("s_or_b64", [](u64 a, u64 b, bool& scc) { return logic(a | b, scc); }),
        sop("s_xor_b32", [](u32 a, u32 b, bool& scc) { return logic(a ^ b, scc); }),
        sop("s_xor_b64", [](u64 a, u64 b, bool& scc) { return logic(a ^ b, scc); }),
        sop("s_andn2_b32", [](u32 a, u32 b, bool& scc) { return logic(a & ~b, scc); }),
        sop("s_andn2_b64", [](u64 a, u64 b, bool& scc) { return logic(a & ~b, scc); }),
        sop("s_orn2_b32", [](u32 a, u32 b, bool& scc) { return logic(a | ~b, scc); }),
        sop("s_orn2_b64", [](u64 a, u64 b, bool& scc) { return logic(a | ~b, scc); }),
        sop("s_nand_b32", [](u32 a, u32 b, bool& scc) { return logic(~(a & b), scc); }),
        sop("s_nand_b64", [](u64 a, u64 b, bool& scc) { return logic(~(a & b), scc); }),
        sop("s_nor_b32", [](u32 a, u32 b, bool& scc) { return logic(~(a | b), scc); }),
        sop("s_nor_b64", [](u64 a, u64 b, bool& scc) { return logic(~(a | b), scc); }),
        sop("s_xnor_b32", [](u32 a, u32 b, bool& scc) { return logic(~(a ^ b), scc); }),
        sop("s_xnor_b64", [](u64 a, u64 b, bool& scc) { return logic(~(a ^ b), scc); }),
        sop("s_lshl_b32", [](u32 a, u32 n, bool& scc) { return logic(a << (n & 31U), scc); }),
        sop("s_lshl_b64", [](u64 a, u32 n, bool& scc) { return logic(a << (n & 63U), scc); }),
        sop("s_lshr_b32", [](u32 a, u32 n, bool& scc) { return logic(a >> (n & 31U), scc); }),
        sop("s_lshr_b64", [](u64 a, u32 n, bool& scc) { return logic(a >> (n & 63U), scc); }),
        sop("s_ashr_i32", [](i32 a, u32 n, bool& scc) { return logic(a >> (n & 31U), scc); }),
        sop("s_ashr_i64", [](i64 a, u32 n, bool& scc) { return logic(a >> (n & 63U), scc); }),
        sop("s_bfm_b32", [](u32 a, u32 b) { return ((1U << (a & 31U)) - 1U) << (b & 31U); }),
        sop("s_bfm_b64", [](u32 a, u32 b) { return ((u64{1} << (a & 63U)) - 1U) << (b & 63U); }),
        sop("s_mul_i32", [](u32 a, u32 b) { return a * b; }),
        sop("s_mul_hi_u32", [](u32 a, u32 b) { return static_cast<u32>((u64{a} * b) >> 32U); }),
        sop("s_mul_hi_i32", [](i32 a, i32 b) { return static_cast<i32>((i64{a} * b) >> 32); }),
        sop("s_bfe_u32", [](u32 a, u32 b, bool& scc) { return logic(bit_field(a, b), scc); }),
        sop("s_bfe_i32", [](i32 a, u32 b, bool& scc) { return logic(bit_field(a, b), scc); }),
        sop("s_bfe_u64", [](u64 a, u32 b, bool& scc) { return logic(bit_field(a, b), scc); }),
        sop("s_bfe_i64", [](i64 a, u32 b, bool& scc) { return logic(bit_field(a, b), scc); }),
        sop("s_absdiff_i32", [](i32 a, i32 b, bool& scc) { const u32 d = static_cast<u32>(a) - static_cast<u32>(b); return logic(static_cast<i32>(d) < 0 ? 0U - d : d, scc); }),
        sop("s_lshl1_add_u32", [](u32 a, u32 b, bool& scc) { return sum((u64{a} << 1U) + b, scc); }),
        sop("s_lshl2_add_u32", [](u32 a, u32 b, bool& scc) { return sum((u64{a} << 2U) + b, scc); }),
        sop("s_lshl3_add_u32", [](u32 a, u32 b, bool& scc) { return sum((u64{a} << 3U) + b, scc); }),
        sop("s_lshl4_add_u32", [](u32 a, u32 b, bool& scc) { return sum((u64{a} << 4U) + b, scc); }),
        sop("s_pack_ll_b32_b16", [](u32 a, u32 b) { return (a & 0xffffU) | (b << 16U); }),
        sop("s_pack_lh_b32_b16", [](u32 a, u32 b) { return (a & 0xffffU) | (b & 0xffff0000U); }),
        sop("s_pack_hh_b32_b16", [](u32 a, u32 b) { return (a >> 16U) | (b & 0xffff0000U); }),

        // 12.2 SOPK; the decoder sign-extends the immediate
        sop("s_movk_i32", [](u32 k) { return k; }),
        sop("s_cmovk_i32", [](u32 k, u32 d, bool& scc) { return scc ? k : d; }).accumulate(),
        sop("s_cmpk_eq_i32", [](i32 a, i32 k, bool& scc) { scc = a == k; }),
        sop("s_cmpk_lg_i32", [](i32 a, i32 k, bool& scc) { scc = a != k; }),
        sop("s_cmpk_gt_i32", [](i32 a, i32 k, bool& scc) { scc = a > k; }),
        sop("s_cmpk_ge_i32", [](i32 a, i32 k, bool& scc) { scc = a >= k; }),
        sop("s_cmpk_lt_i32", [](i32 a, i32 k, bool& scc) { scc = a < k; }),
        sop("s_cmpk_le_i32", [](i32 a, i32 k, bool& scc) { scc = a <= k; }),
        sop("s_cmpk_eq_u32", [](u32 a, u32 k, bool& scc) { scc = a == (k & 0xffffU); }),
        sop("s_cmpk_lg_u32", [](u32 a, u32 k, bool& scc) { scc = a != (k & 0xffffU); }),
        sop("s_cmpk_gt_u32", [](u32 a, u32 k, bool& scc) { scc = a > (k & 0xffffU); }),
        sop("s_cmpk_ge_u32", [](u32 a, u32 k, bool& scc) { scc = a >= (k & 0xffffU); }),
        sop("s_cmpk_lt_u32", [](u32 a, u32 k, bool& scc) { scc = a < (k & 0xffffU); }),
        sop("s_cmpk_le_u32", [](u32 a, u32 k, bool& scc) { scc = a <= (k & 0xffffU); }),
        sop("s_addk_i32", [](i32 k, i32 d, bool& scc) { i32 r = 0; scc = __builtin_add_overflow(d, k, &r); return r; }).accumulate(),
        sop("s_mulk_i32", [](u32 k, u32 d) { return k * d; }).accumulate(),

        // 12.3 SOP1
        sop("s_mov_b32", [](u32 a) { return a; }),
        sop("s_mov_b64", [](u64 a) { return a; }),
        sop("s_cmov_b32", [](u32 a, u32 d, bool& scc) { return scc ? a : d; }).accumulate(),
        sop("s_cmov_b64", [](u64 a, u64 d, bool& scc) { return scc ? a : d; }).accumulate(),
        sop("s_not_b32", [](u32 a, bool& scc) { return logic(~a, scc); }),
        sop("s_not_b64", [](u64 a, bool& scc) { return logic(~a, scc); }),
        sop("s_wqm_b32", [](u32 a, bool& scc) { return logic(whole_quads(a), scc); }),
        sop("s_wqm_b64", [](u64 a, bool& scc) { return logic(whole_quads(a), scc); }),
        sop("s_brev_b32", [](u32 a) { return reversed(a); }),
        sop("s_brev_b64", [](u64 a) { return reversed(a); }),
        sop("s_bcnt0_i32_b32", [](u32 a, bool& scc) { return logic(static_cast<u32>(std::popcount(~a)), scc); }),
        sop("s_bcnt0_i32_b64", [](u64 a, bool& scc) { return logic(static_cast<u32>(std::popcount(~a)), scc); }),
        sop("s_bcnt1_i32_b32", [](u32 a, bool& scc) { return logic(static_cast<u32>(std::popcount(a)), scc); }),
        sop("s_bcnt1_i32_b64", [](u64 a, bool& scc) { return logic(static_cast<u32>(std::popcount(a)), scc); }),
        sop("s_ff0_i32_b32", [](u32 a) { return ~a == 0 ? ~0U : static_cast<u32>(std::countr_one(a)); }),
        sop("s_ff0_i32_b64", [](u64 a) { return ~a == 0 ? ~0U : static_cast<u32>(std::countr_one(a)); }),
        sop("s_ff1_i32_b32", [](u32 a) { return a == 0 ? ~0U : static_cast<u32>(std::countr_zero(a)); }),
        sop("s_ff1_i32_b64", [](u64 a) { return a == 0 ? ~0U : static_cast<u32>(std::countr_zero(a)); }),
        sop("s_flbit_i32_b32", [](u32 a) { return a == 0 ? ~0U : static_cast<u32>(std::countl_zero(a)); }),
        sop("s_flbit_i32_b64", [](u64 a) { return a == 0 ? ~0U : static_cast<u32>(std::countl_zero(a)); }),
        sop("s_flbit_i32", [](i32 a) { return leading_different(a); }),
        sop("s_flbit_i32_i64", [](i64 a) { return leading_different(a); }),
        sop("s_sext_i32_i8", [](u32 a) { return static_cast<i32>(static_cast<i8>(a)); }),
        sop("s_sext_i32_i16", [](u32 a) { return static_cast<i32>(static_cast<i16>(a)); }),
        sop("s_bitset0_b32", [](u32 a, u32 d) { return d & ~(1U << (a & 31U)); }).accumulate(),
        sop("s_bitset0_b64", [](u32 a, u64 d) { return d & ~(u64{1} << (a & 63U)); }).accumulate(),
        sop("s_bitset1_b32", [](u32 a, u32 d) { return d | (1U << (a & 31U)); }).accumulate(),
        sop("s_bitset1_b64", [](u32 a, u64 d) { return d | (u64{1} << (a & 63U)); }).accumulate(),
        sop("s_bitreplicate_b64_b32", [](u32 a) { u64 r = 0; for (u32 i = 0; i < 32; ++i) r |= (u64{(a >> i) & 1U} * 3U) << (2U * i); return r; }),
        sop("s_abs_i32", [](u32 a, bool& scc) { return logic(static_cast<i32>(a) < 0 ? 0U - a : a, scc); }),
        sop("s_quadmask_b32", [](u32 a, bool& scc) { u32 r = 0; for (u32 i = 0; i < 8; ++i) r |= static_cast<u32>(((a >> (4U * i)) & 15U) != 0) << i; return logic(r, scc); }),
        sop("s_quadmask_b64", [](u64 a, bool& scc) { u64 r = 0; for (u32 i = 0; i < 16; ++i) r |= static_cast<u64>(((a >> (4U * i)) & 15U) != 0) << i; return logic(r, scc); }),
        sop("s_and_saveexec_b64", [](u64 a, Wave& w) { return save_exec(w, a & w.exec()); }),
        sop("s_or_saveexec_b64", [](u64 a, Wave& w) { return save_exec(w, a | w.exec()); }),
        sop("s_xor_saveexec_b64", [](u64 a, Wave& w) { return save_exec(w, a ^ w.exec()); }),
        sop("s_andn2_saveexec_b64", [](u64 a, Wave& w) { return save_exec(w, a & ~w.exec()); }),
        sop("s_andn1_saveexec_b64", [](u64 a, Wave& w) { return save_exec(w, ~a & w.exec()); }),
        sop("s_orn2_saveexec_b64", [](u64 a, Wave& w) { return save_exec(w, a | ~w.exec()); }),
        sop("s_orn1_saveexec_b64", [](u64 a, Wave& w) { return save_exec(w, ~a | w.exec()); }),
        sop("s_nand_saveexec_b64", [](u64 a, Wave& w) { return save_exec(w, ~(a & w.exec())); }),
        sop("s_nor_saveexec_b64", [](u64 a, Wave& w) { return save_exec(w, ~(a | w.exec())); }),
        sop("s_xnor_saveexec_b64", [](u64 a, Wave& w) { return save_exec(w, ~(a ^ w.exec())); }),
        sop("s_andn1_wrexec_b64", [](u64 a, Wave& w) { return write_exec(w, ~a & w.exec()); }),
        sop("s_andn2_wrexec_b64", [](u64 a, Wave& w) { return write_exec(w, a & ~w.exec()); }),

        // 12.4 SOPC
        sop("s_cmp_eq_i32", [](i32 a, i32 b, bool& scc) { scc = a == b; }),
        sop("s_cmp_lg_i32", [](i32 a, i32 b, bool& scc) { scc = a != b; }),
        sop("s_cmp_gt_i32", [](i32 a, i32 b, bool& scc) { scc = a > b; }),
        sop("s_cmp_ge_i32", [](i32 a, i32 b, bool& scc) { scc = a >= b; }),
        sop("s_cmp_lt_i32", [](i32 a, i32 b, bool& scc) { scc = a < b; }),
        sop("s_cmp_le_i32", [](i32 a, i32 b, bool& scc) { scc = a <= b; }),
        sop("s_cmp_eq_u32", [](u32 a, u32 b, bool& scc) { scc = a == b; }),
        sop("s_cmp_lg_u32", [](u32 a, u32 b, bool& scc) { scc = a != b; }),
        sop("s_cmp_gt_u32", [](u32 a, u32 b, bool& scc) { scc = a > b; }),
        sop("s_cmp_ge_u32", [](u32 a, u32 b, bool& scc) { scc = a >= b; }),
        sop("s_cmp_lt_u32", [](u32 a, u32 b, bool& scc) { scc = a < b; }),
        sop("s_cmp_le_u32", [](u32 a, u32 b, bool& scc) { scc = a <= b; }),
        sop("s_cmp_eq_u64", [](u64 a, u64 b, bool& scc) { scc = a == b; }),
        sop("s_cmp_lg_u64", [](u64 a, u64 b, bool& scc) { scc = a != b; }),
        sop("s_bitcmp0_b32", [](u32 a, u32 b, bool& scc) { scc = ((a >> (b & 31U)) & 1U) == 0; }),
        sop("s_bitcmp1_b32", [](u32 a, u32 b, bool& scc) { scc = ((a >> (b & 31U)) & 1U) != 0; }),
        sop("s_bitcmp0_b64", [](u64 a, u32 b, bool& scc) { scc = ((a >> (b & 63U)) & 1U) == 0; }),
        sop("s_bitcmp1_b64", [](u64 a, u32 b, bool& scc) { scc = ((a >> (b & 63U)) & 1U) != 0; }),
    };
    return rows;
}

}  // namespace hipscope::HIPSCOPE_ISA
