// Matrix core instructions (manual chapter 7): D = A * B + C on blocks of MxK by KxN, spread over the 64 lanes.
//
// Where elements are (N = M, L = values of K per lane, G = K / L groups of lanes, b = block):
//   A[i][k], B[k][i]: lane i + M * (b + blocks * (k / L)), element k % L of the lane's registers;
//   D[i][j] of 32-bit results: lane j + M * (b or group), four consecutive rows per lane, then the next group;
//   D[i][j] of f64 results: one row per lane group at a time.
// EXEC does not matter. CBSZ/ABID broadcast blocks of A, BLGP exchanges lanes of B (f64: negates operands).
#include <cstring>

#include "isa/families.hpp"
#include "isa/scalars.hpp"
#include "isa/small_float.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

f32 fp8_value(u32 byte) {  // e4m3, bias 8; 0x80 is NaN
    if (byte == 0x80) return default_nan<f32>;
    const u32 m = byte & 7U, e = (byte >> 3U) & 15U;
    const f32 v = e == 0 ? static_cast<f32>(m) * 0x1p-10F : bits<f32>(((e + 119U) << 23U) | (m << 20U));
    return (byte & 0x80U) != 0 ? -v : v;
}
f32 bf8_value(u32 byte) {  // e5m2, bias 16; 0x80 is NaN
    if (byte == 0x80) return default_nan<f32>;
    const u32 m = byte & 3U, e = (byte >> 2U) & 31U;
    const f32 v = e == 0 ? static_cast<f32>(m) * 0x1p-17F : bits<f32>(((e + 111U) << 23U) | (m << 21U));
    return (byte & 0x80U) != 0 ? -v : v;
}

/// Element formats: how many bits, and the value that is multiplied.
struct F32 {
    static constexpr u32 bits = 32;
    using Value = f32;
    HIPSCOPE_INLINE static f32 value(u64 b) { return HIPSCOPE_ISA::bits<f32>(static_cast<u32>(b)); }
};
struct XF32 {  // f32 with ten mantissa bits
    static constexpr u32 bits = 32;
    using Value = f32;
    HIPSCOPE_INLINE static f32 value(u64 b) {
        const u32 x = static_cast<u32>(b);
        const u32 kept = (x + 0xfffU + ((x >> 13U) & 1U)) & 0xffffe000U;
        return HIPSCOPE_ISA::bits<f32>(is_nan(HIPSCOPE_ISA::bits<f32>(x)) ? x : kept);
    }
};
struct F16 {
    static constexpr u32 bits = 16;
    using Value = f32;
    HIPSCOPE_INLINE static f32 value(u64 b) { return widen(f16{static_cast<u16>(b)}); }
};
struct BF16 {
    static constexpr u32 bits = 16;
    using Value = f32;
    HIPSCOPE_INLINE static f32 value(u64 b) { return widen_bfloat(static_cast<u32>(b)); }
};
struct FP8 {
    static constexpr u32 bits = 8;
    using Value = f32;
    HIPSCOPE_INLINE static f32 value(u64 b) { return fp8_value(static_cast<u32>(b)); }
};
struct BF8 {
    static constexpr u32 bits = 8;
    using Value = f32;
    HIPSCOPE_INLINE static f32 value(u64 b) { return bf8_value(static_cast<u32>(b)); }
};
/// gfx950's 8-bit floats.
template <class Small>
struct Ocp {
    static constexpr u32 bits = Small::bits;
    using Value = f32;
    HIPSCOPE_INLINE static f32 value(u64 b) { return static_cast<f32>(from_small<Small>(static_cast<u32>(b))); }
};
using FP8O = Ocp<OcpFp8>;
using BF8O = Ocp<OcpBf8>;
struct I8 {
    static constexpr u32 bits = 8;
    using Value = u32;
    HIPSCOPE_INLINE static u32 value(u64 b) { return static_cast<u32>(static_cast<i32>(static_cast<i8>(b))); }
};
struct F64 {
    static constexpr u32 bits = 64;
    using Value = f64;
    HIPSCOPE_INLINE static f64 value(u64 b) { return HIPSCOPE_ISA::bits<f64>(b); }
};

template <class T>
HIPSCOPE_INLINE T multiply_add(T a, T b, T c) {
    if constexpr (std::is_same_v<T, u32>) return a * b + c;
    else if constexpr (std::is_same_v<T, f32>) return fused(a, b, c);
    else return __builtin_fma(a, b, c);
}

template <class V>
using Bits = std::conditional_t<sizeof(V) == 8, u64, u32>;

/// The lane whose B values lane `lane` uses (BLGP).
u32 exchanged(u32 lane, u32 pattern) {
    switch (pattern) {
        case 1: return lane & 31U;
        case 2: return lane | 32U;
        case 3: return (lane + 16U) & 63U;
        case 4: case 5: case 6: case 7: return (lane & 15U) | ((pattern - 4U) << 4U);
        default: return lane;
    }
}

template <class Format>
HIPSCOPE_INLINE typename Format::Value element(const Wave& w, const Operand& o, u32 lane, u32 n) {
    const u32 first = n * Format::bits / 32, shift = n * Format::bits % 32;
    u64 raw = w.vgpr[o.index + first][lane] >> shift;
    if constexpr (Format::bits == 64) raw |= u64{w.vgpr[o.index + first + 1][lane]} << 32U;
    if constexpr (Format::bits < 32) raw &= (1U << Format::bits) - 1U;
    return Format::value(raw);
}

/// Lane and register (in values) of D[i][j] of a block.
struct Place {
    u32 lane, value;
};
template <u32 size, u32 blocks, bool wide>
Place result_place(u32 block, u32 i, u32 j) {
    if constexpr (size == 4) return wide ? Place{j + 4 * block + 16 * i, 0} : Place{j + 4 * block, i};
    constexpr u32 groups = kLanes / size;
    constexpr u32 run = wide ? 1 : 4;                   // consecutive rows of one lane
    const u32 group = (i / run) % groups, turn = i / (run * groups);
    return {j + size * group, block * (size / groups) + turn * run + i % run};
}

/// Part of a result row: `size` neighbouring lanes of one register (or register pair).
template <class V, u32 size>
HIPSCOPE_INLINE void load_part(const Wave& w, const Operand& o, Place p, V* to) {
    if (o.kind != OperandKind::vgpr && o.kind != OperandKind::agpr) {
        const V value = sizeof(V) == 8 ? bits<V>(static_cast<Bits<V>>(scalar64(w, o))) : bits<V>(static_cast<Bits<V>>(scalar32(w, o)));
        for (u32 j = 0; j < size; ++j) to[j] = value;
        return;
    }
    const u32(*row)[kLanes] = w.vgpr + o.index + p.value * (sizeof(V) / 4);
    for (u32 j = 0; j < size; ++j) {
        if constexpr (sizeof(V) == 8) to[j] = bits<V>(u64{row[0][p.lane + j]} | (u64{row[1][p.lane + j]} << 32U));
        else to[j] = bits<V>(row[0][p.lane + j]);
    }
}
template <class V, u32 size>
HIPSCOPE_INLINE void store_part(Wave& w, const Operand& o, Place p, const V* from) {
    u32(*row)[kLanes] = w.vgpr + o.index + p.value * (sizeof(V) / 4);
    for (u32 j = 0; j < size; ++j) {
        const Bits<V> raw = bits<Bits<V>>(from[j]);
        row[0][p.lane + j] = static_cast<u32>(raw);
        if constexpr (sizeof(V) == 8) row[1][p.lane + j] = static_cast<u32>(raw >> 32U);
    }
}

/// d[j] += x[k] * y[k][j] for all k in turn. k is in row k % per_lane of `a` and `b`, `step` further for each whole turn.
template <class V, u32 chunk, u32 depth, u32 per_lane, u32 step>
HIPSCOPE_INLINE void add_products(V* d, const V* a, const V* b) {
#if defined(__AVX512F__)
    if constexpr (std::is_same_v<V, f32> && chunk == 16) {  // the sums stay in one register, which compilers do not see
        __m512 sum = _mm512_load_ps(d);
#pragma GCC unroll 8
        for (u32 k = 0; k < depth; ++k) {
            const u32 at = k % per_lane * kLanes + k / per_lane * step;
            sum = _mm512_fmadd_ps(_mm512_set1_ps(a[at]), _mm512_load_ps(b + at), sum);
        }
        _mm512_store_ps(d, sum);
        return;
    }
#endif
    for (u32 k = 0; k < depth; ++k) {
        const u32 at = k % per_lane * kLanes + k / per_lane * step;
        for (u32 j = 0; j < chunk; ++j) d[j] = multiply_add<V>(a[at], b[at + j], d[j]);
    }
}

template <class A, class B, u32 size, u32 blocks, u32 depth>
Step matrix(Wave& w, const Instruction& in) {
    using V = typename A::Value;
    constexpr bool wide = sizeof(V) == 8;
    constexpr u32 per_lane = depth * size * blocks / kLanes;
    constexpr u32 chunk = size < 16 ? size : 16;                   // columns at a time: one or two host registers
    const u32 broadcast = wide ? 0 : in.modifiers.neg_hi & 7U;     // CBSZ
    const u32 chosen = wide ? 0 : in.modifiers.op_sel & 15U;       // ABID
    const u32 pattern = in.modifiers.neg_lo & 7U;                  // BLGP; f64: negate A, B, C
    if ((1U << broadcast) > blocks) return fault(w, FaultKind::unsupported, 0, 0, -1, false);  // more blocks than the shape has
    alignas(64) V a[per_lane][kLanes], b[per_lane][kLanes];
    for (u32 n = 0; n < per_lane; ++n) {
        for (u32 lane = 0; lane < kLanes; ++lane) a[n][lane] = element<A>(w, in.source[0], lane, n);
        for (u32 lane = 0; lane < kLanes; ++lane) b[n][lane] = element<B>(w, in.source[1], lane, n);
        if constexpr (wide) {
            for (u32 lane = 0; lane < kLanes; ++lane) a[n][lane] = (pattern & 1U) != 0 ? -a[n][lane] : a[n][lane];
            for (u32 lane = 0; lane < kLanes; ++lane) b[n][lane] = (pattern & 2U) != 0 ? -b[n][lane] : b[n][lane];
        } else if (pattern != 0) {
            V moved[kLanes];
            for (u32 lane = 0; lane < kLanes; ++lane) moved[lane] = b[n][exchanged(lane, pattern)];
            std::memcpy(b[n], moved, sizeof moved);
        }
    }
    for (u32 block = 0; block < blocks; ++block) {
        const u32 a_block = broadcast == 0 ? block : ((block >> broadcast) << broadcast) | (chosen & ((1U << broadcast) - 1U));
        for (u32 i = 0; i < size; ++i) {
            const Place p = result_place<size, blocks, wide>(block, i, 0);
            for (u32 first = 0; first < size; first += chunk) {
                const Place part{p.lane + first, p.value};
                alignas(64) V d[chunk];
                load_part<V, chunk>(w, in.source[2], part, d);
                if constexpr (wide) {
                    for (u32 j = 0; j < chunk; ++j) d[j] = (pattern & 4U) != 0 ? -d[j] : d[j];
                }
                add_products<V, chunk, depth, per_lane, blocks * size>(d, &a[0][i + size * a_block], &b[0][size * block + first]);
                store_part<V, chunk>(w, in.destination[0], part, d);
            }
        }
    }
    return Step::next;
}

/// Structured sparsity: of every four values of K, A stores two; the index register says which.
template <class A, class B, u32 size, u32 depth>
Step sparse(Wave& w, const Instruction& in) {
    using V = typename A::Value;
    constexpr u32 groups = kLanes / size;
    constexpr u32 dense = depth / groups;      // values of K per lane in B
    constexpr u32 stored = dense / 2;          // and in A
    constexpr u32 index_bits = 2 * stored;
    const bool first_part = (in.modifiers.neg_hi & 7U) != 0;                  // CBSZ: whatever ABID says
    const u32 chosen = first_part ? 0 : in.modifiers.op_sel & 3U;             // ABID: which part of the index register
    V a[size][depth] = {}, b[depth][size];
    for (u32 lane = 0; lane < kLanes; ++lane) {
        const u32 i = lane % size, group = lane / size;
        const u32 index = w.vgpr[in.source[2].index][lane] >> (index_bits * chosen % 32);
        for (u32 n = 0; n < stored; ++n) {
            const u32 position = (index >> (2 * n)) & 3U;
            a[i][group * dense + (n / 2) * 4 + position] = element<A>(w, in.source[0], lane, n);
        }
        for (u32 n = 0; n < dense; ++n) b[group * dense + n][i] = element<B>(w, in.source[1], lane, n);
    }
    for (u32 i = 0; i < size; ++i) {
        const Place p = result_place<size, 1, false>(0, i, 0);
        V d[size];
        load_part<V, size>(w, in.destination[0], p, d);
        for (u32 k = 0; k < depth; ++k) {
            for (u32 j = 0; j < size; ++j) d[j] = multiply_add<V>(a[i][k], b[k][j], d[j]);
        }
        store_part<V, size>(w, in.destination[0], p, d);
    }
    return Step::next;
}

/// Values of one lane in a format that the instruction chooses: 32 of them, packed from bit 0 of the first register.
void small_values(const Wave& w, const Operand& o, u32 lane, u32 format, f32* to) {
    constexpr u32 widths[] = {8, 8, 6, 6, 4};
    const u32 width = widths[format];
    for (u32 n = 0; n < 32; ++n) {
        const u32 at = n * width, word = o.index + at / 32;
        const u32 next = at % 32 + width > 32 ? w.vgpr[word + 1][lane] : 0;
        const u32 code = static_cast<u32>((u64{w.vgpr[word][lane]} | (u64{next} << 32U)) >> (at % 32)) & ((1U << width) - 1U);
        switch (format) {
            case 0: to[n] = static_cast<f32>(from_small<OcpFp8>(code)); break;
            case 1: to[n] = static_cast<f32>(from_small<OcpBf8>(code)); break;
            case 2: to[n] = static_cast<f32>(from_small<OcpFp6>(code)); break;
            case 3: to[n] = static_cast<f32>(from_small<OcpBf6>(code)); break;
            default: to[n] = static_cast<f32>(from_small<OcpFp4>(code)); break;
        }
    }
}

/// v_mfma_*_f8f6f4: CBSZ and BLGP are the formats of A and B. Each lane's 32 values have one scale, a byte of a register
/// that op_sel and op_sel_hi choose; the scale multiplies the sum of their products.
template <u32 size, u32 depth, bool scaled>
Step mixed_matrix(Wave& w, const Instruction& in) {
    constexpr u32 groups = kLanes / size;
    static_assert(depth == 32 * groups);
    const u32 formats[2] = {in.modifiers.neg_hi & 7U, in.modifiers.neg_lo & 7U};
    if (formats[0] > 4 || formats[1] > 4) return fault(w, FaultKind::unsupported, 0, 0, -1, false);
    alignas(64) f32 values[2][kLanes][32];
    f64 scale[2][kLanes];
    for (u32 k = 0; k < 2; ++k) {
        for (u32 lane = 0; lane < kLanes; ++lane) small_values(w, in.source[k], lane, formats[k], values[k][lane]);
        const Operand& o = in.source[3 + k];
        const u32 byte = ((in.modifiers.op_sel >> k) & 1U) | ((in.modifiers.op_sel_hi >> k) & 1U) << 1U;
        for (u32 lane = 0; lane < kLanes; ++lane) {
            if constexpr (scaled) {
                const u32 bytes = o.kind == OperandKind::vgpr || o.kind == OperandKind::agpr ? w.vgpr[o.index][lane] : scalar32(w, o);
                scale[k][lane] = scale_of((bytes >> (8U * byte)) & 0xffU);
            } else {
                scale[k][lane] = 1;
            }
        }
    }
    for (u32 i = 0; i < size; ++i) {
        const Place p = result_place<size, 1, false>(0, i, 0);
        f32 d[size];
        load_part<f32, size>(w, in.source[2], p, d);
        for (u32 j = 0; j < size; ++j) {
            for (u32 g = 0; g < groups; ++g) {
                const u32 a = i + size * g, b = j + size * g;
                f64 sum = 0;
                for (u32 n = 0; n < 32; ++n) sum += static_cast<f64>(values[0][a][n]) * static_cast<f64>(values[1][b][n]);
                d[j] = static_cast<f32>(sum * scale[0][a] * scale[1][b] + static_cast<f64>(d[j]));
            }
        }
        store_part<f32, size>(w, in.destination[0], p, d);
    }
    return Step::next;
}

constexpr Entry row(std::string_view name, Handler run, u8 passes, Type c) {
    Entry e;
    e.name = name;
    e.unit = Unit::mfma;
    e.run = run;
    e.destinations = 1;
    e.sources = 3;
    e.source = {Type::wide, Type::wide, c};
    e.passes = passes;
    return e;
}
template <class A, class B, u32 size, u32 blocks, u32 depth>
constexpr Entry mm(std::string_view name, u8 passes) {
    using V = typename A::Value;
    return row(name, &matrix<A, B, size, blocks, depth>, passes, sizeof(V) == 8 ? Type::f64 : std::is_same_v<V, f32> ? Type::f32 : Type::b32);
}
template <class A, class B, u32 size, u32 depth>
constexpr Entry sm(std::string_view name, u8 passes) { return row(name, &sparse<A, B, size, depth>, passes, Type::b32); }
template <u32 size, u32 depth>
constexpr Entry small_mm(std::string_view name, u8 passes) { return row(name, &mixed_matrix<size, depth, false>, passes, Type::f32); }
template <u32 size, u32 depth>
constexpr Entry small_mm_scaled(std::string_view name, u8 passes) {
    Entry e = row(name, &mixed_matrix<size, depth, true>, passes, Type::f32);
    e.sources = 5;
    e.source[3] = e.source[4] = Type::b32;
    return e;
}

}  // namespace

Table mfma() {
    static constexpr Entry rows[] = {
        mm<F32, F32, 32, 2, 1>("v_mfma_f32_32x32x1_2b_f32", 16),
        mm<F32, F32, 16, 4, 1>("v_mfma_f32_16x16x1_4b_f32", 8),
        mm<F32, F32, 4, 16, 1>("v_mfma_f32_4x4x1_16b_f32", 2),
        mm<F32, F32, 32, 1, 2>("v_mfma_f32_32x32x2_f32", 16),
        mm<F32, F32, 16, 1, 4>("v_mfma_f32_16x16x4_f32", 8),
        mm<F16, F16, 32, 2, 4>("v_mfma_f32_32x32x4_2b_f16", 16),
        mm<F16, F16, 16, 4, 4>("v_mfma_f32_16x16x4_4b_f16", 8),
        mm<F16, F16, 4, 16, 4>("v_mfma_f32_4x4x4_16b_f16", 2),
        mm<F16, F16, 32, 1, 8>("v_mfma_f32_32x32x8_f16", 8),
        mm<F16, F16, 16, 1, 16>("v_mfma_f32_16x16x16_f16", 4),
        mm<BF16, BF16, 32, 2, 4>("v_mfma_f32_32x32x4_2b_bf16", 16),
        mm<BF16, BF16, 16, 4, 4>("v_mfma_f32_16x16x4_4b_bf16", 8),
        mm<BF16, BF16, 4, 16, 4>("v_mfma_f32_4x4x4_16b_bf16", 2),
        mm<BF16, BF16, 32, 1, 8>("v_mfma_f32_32x32x8_bf16", 8),
        mm<BF16, BF16, 16, 1, 16>("v_mfma_f32_16x16x16_bf16", 4),
        mm<XF32, XF32, 16, 1, 8>("v_mfma_f32_16x16x8_xf32", 4),
        mm<XF32, XF32, 32, 1, 4>("v_mfma_f32_32x32x4_xf32", 8),
        mm<I8, I8, 32, 2, 4>("v_mfma_i32_32x32x4_2b_i8", 16),
        mm<I8, I8, 16, 4, 4>("v_mfma_i32_16x16x4_4b_i8", 8),
        mm<I8, I8, 4, 16, 4>("v_mfma_i32_4x4x4_16b_i8", 2),
        mm<I8, I8, 32, 1, 16>("v_mfma_i32_32x32x16_i8", 8),
        mm<I8, I8, 16, 1, 32>("v_mfma_i32_16x16x32_i8", 4),
        mm<F64, F64, 16, 1, 4>("v_mfma_f64_16x16x4_f64", 8),
        mm<F64, F64, 4, 4, 4>("v_mfma_f64_4x4x4_4b_f64", 4),
        mm<FP8, FP8, 16, 1, 32>("v_mfma_f32_16x16x32_fp8_fp8", 4),
        mm<FP8, BF8, 16, 1, 32>("v_mfma_f32_16x16x32_fp8_bf8", 4),
        mm<BF8, FP8, 16, 1, 32>("v_mfma_f32_16x16x32_bf8_fp8", 4),
        mm<BF8, BF8, 16, 1, 32>("v_mfma_f32_16x16x32_bf8_bf8", 4),
        mm<FP8, FP8, 32, 1, 16>("v_mfma_f32_32x32x16_fp8_fp8", 8),
        mm<FP8, BF8, 32, 1, 16>("v_mfma_f32_32x32x16_fp8_bf8", 8),
        mm<BF8, FP8, 32, 1, 16>("v_mfma_f32_32x32x16_bf8_fp8", 8),
        mm<BF8, BF8, 32, 1, 16>("v_mfma_f32_32x32x16_bf8_bf8", 8),

        // gfx90a's names of the same shapes; its bf16 forms without _1k take half as many values per lane
        mm<F32, F32, 32, 2, 1>("v_mfma_f32_32x32x1f32", 16),
        mm<F32, F32, 16, 4, 1>("v_mfma_f32_16x16x1f32", 8),
        mm<F32, F32, 4, 16, 1>("v_mfma_f32_4x4x1f32", 2),
        mm<F32, F32, 32, 1, 2>("v_mfma_f32_32x32x2f32", 16),
        mm<F32, F32, 16, 1, 4>("v_mfma_f32_16x16x4f32", 8),
        mm<F16, F16, 32, 2, 4>("v_mfma_f32_32x32x4f16", 16),
        mm<F16, F16, 16, 4, 4>("v_mfma_f32_16x16x4f16", 8),
        mm<F16, F16, 4, 16, 4>("v_mfma_f32_4x4x4f16", 2),
        mm<F16, F16, 32, 1, 8>("v_mfma_f32_32x32x8f16", 16),
        mm<F16, F16, 16, 1, 16>("v_mfma_f32_16x16x16f16", 8),
        mm<BF16, BF16, 32, 2, 4>("v_mfma_f32_32x32x4bf16_1k", 16),
        mm<BF16, BF16, 16, 4, 4>("v_mfma_f32_16x16x4bf16_1k", 8),
        mm<BF16, BF16, 4, 16, 4>("v_mfma_f32_4x4x4bf16_1k", 2),
        mm<BF16, BF16, 32, 1, 8>("v_mfma_f32_32x32x8bf16_1k", 16),
        mm<BF16, BF16, 16, 1, 16>("v_mfma_f32_16x16x16bf16_1k", 8),
        mm<BF16, BF16, 32, 2, 2>("v_mfma_f32_32x32x2bf16", 16),
        mm<BF16, BF16, 16, 4, 2>("v_mfma_f32_16x16x2bf16", 8),
        mm<BF16, BF16, 4, 16, 2>("v_mfma_f32_4x4x2bf16", 2),
        mm<BF16, BF16, 32, 1, 4>("v_mfma_f32_32x32x4bf16", 16),
        mm<BF16, BF16, 16, 1, 8>("v_mfma_f32_16x16x8bf16", 8),
        mm<I8, I8, 32, 2, 4>("v_mfma_i32_32x32x4i8", 16),
        mm<I8, I8, 16, 4, 4>("v_mfma_i32_16x16x4i8", 8),
        mm<I8, I8, 4, 16, 4>("v_mfma_i32_4x4x4i8", 2),
        mm<I8, I8, 32, 1, 8>("v_mfma_i32_32x32x8i8", 16),
        mm<I8, I8, 16, 1, 16>("v_mfma_i32_16x16x16i8", 8),
        mm<F64, F64, 16, 1, 4>("v_mfma_f64_16x16x4f64", 8),
        mm<F64, F64, 4, 4, 4>("v_mfma_f64_4x4x4f64", 4),

        sm<F16, F16, 16, 32>("v_smfmac_f32_16x16x32_f16", 4),
        sm<F16, F16, 32, 16>("v_smfmac_f32_32x32x16_f16", 8),
        sm<BF16, BF16, 16, 32>("v_smfmac_f32_16x16x32_bf16", 4),
        sm<BF16, BF16, 32, 16>("v_smfmac_f32_32x32x16_bf16", 8),
        sm<I8, I8, 16, 64>("v_smfmac_i32_16x16x64_i8", 4),
        sm<I8, I8, 32, 32>("v_smfmac_i32_32x32x32_i8", 8),
        sm<FP8, FP8, 16, 64>("v_smfmac_f32_16x16x64_fp8_fp8", 4),
        sm<FP8, BF8, 16, 64>("v_smfmac_f32_16x16x64_fp8_bf8", 4),
        sm<BF8, FP8, 16, 64>("v_smfmac_f32_16x16x64_bf8_fp8", 4),
        sm<BF8, BF8, 16, 64>("v_smfmac_f32_16x16x64_bf8_bf8", 4),
        sm<FP8, FP8, 32, 32>("v_smfmac_f32_32x32x32_fp8_fp8", 8),
        sm<FP8, BF8, 32, 32>("v_smfmac_f32_32x32x32_fp8_bf8", 8),
        sm<BF8, FP8, 32, 32>("v_smfmac_f32_32x32x32_bf8_fp8", 8),
        sm<BF8, BF8, 32, 32>("v_smfmac_f32_32x32x32_bf8_bf8", 8),

        // gfx950: twice the depth, its own 8-bit floats, formats chosen by the instruction
        mm<F16, F16, 16, 1, 32>("v_mfma_f32_16x16x32_f16", 4),
        mm<F16, F16, 32, 1, 16>("v_mfma_f32_32x32x16_f16", 8),
        mm<BF16, BF16, 16, 1, 32>("v_mfma_f32_16x16x32_bf16", 4),
        mm<BF16, BF16, 32, 1, 16>("v_mfma_f32_32x32x16_bf16", 8),
        mm<I8, I8, 16, 1, 64>("v_mfma_i32_16x16x64_i8", 4),
        mm<I8, I8, 32, 1, 32>("v_mfma_i32_32x32x32_i8", 8),
        small_mm<16, 128>("v_mfma_f32_16x16x128_f8f6f4", 8),
        small_mm<32, 64>("v_mfma_f32_32x32x64_f8f6f4", 16),
        small_mm_scaled<16, 128>("v_mfma_scale_f32_16x16x128_f8f6f4", 8),
        small_mm_scaled<32, 64>("v_mfma_scale_f32_32x32x64_f8f6f4", 16),
        sm<F16, F16, 16, 64>("v_smfmac_f32_16x16x64_f16", 8),
        sm<F16, F16, 32, 32>("v_smfmac_f32_32x32x32_f16", 16),
        sm<BF16, BF16, 16, 64>("v_smfmac_f32_16x16x64_bf16", 8),
        sm<BF16, BF16, 32, 32>("v_smfmac_f32_32x32x32_bf16", 16),
        sm<I8, I8, 16, 128>("v_smfmac_i32_16x16x128_i8", 8),
        sm<I8, I8, 32, 64>("v_smfmac_i32_32x32x64_i8", 16),
        mm<FP8O, FP8O, 16, 1, 32>("v_mfma_f32_16x16x32_fp8_fp8@gfx950", 4),
        mm<FP8O, BF8O, 16, 1, 32>("v_mfma_f32_16x16x32_fp8_bf8@gfx950", 4),
        mm<BF8O, FP8O, 16, 1, 32>("v_mfma_f32_16x16x32_bf8_fp8@gfx950", 4),
        mm<BF8O, BF8O, 16, 1, 32>("v_mfma_f32_16x16x32_bf8_bf8@gfx950", 4),
        mm<FP8O, FP8O, 32, 1, 16>("v_mfma_f32_32x32x16_fp8_fp8@gfx950", 8),
        mm<FP8O, BF8O, 32, 1, 16>("v_mfma_f32_32x32x16_fp8_bf8@gfx950", 8),
        mm<BF8O, FP8O, 32, 1, 16>("v_mfma_f32_32x32x16_bf8_fp8@gfx950", 8),
        mm<BF8O, BF8O, 32, 1, 16>("v_mfma_f32_32x32x16_bf8_bf8@gfx950", 8),
        sm<FP8O, FP8O, 16, 64>("v_smfmac_f32_16x16x64_fp8_fp8@gfx950", 4),
        sm<FP8O, BF8O, 16, 64>("v_smfmac_f32_16x16x64_fp8_bf8@gfx950", 4),
        sm<BF8O, FP8O, 16, 64>("v_smfmac_f32_16x16x64_bf8_fp8@gfx950", 4),
        sm<BF8O, BF8O, 16, 64>("v_smfmac_f32_16x16x64_bf8_bf8@gfx950", 4),
        sm<FP8O, FP8O, 32, 32>("v_smfmac_f32_32x32x32_fp8_fp8@gfx950", 8),
        sm<FP8O, BF8O, 32, 32>("v_smfmac_f32_32x32x32_fp8_bf8@gfx950", 8),
        sm<BF8O, FP8O, 32, 32>("v_smfmac_f32_32x32x32_bf8_fp8@gfx950", 8),
        sm<BF8O, BF8O, 32, 32>("v_smfmac_f32_32x32x32_bf8_bf8@gfx950", 8),
        sm<FP8O, FP8O, 16, 128>("v_smfmac_f32_16x16x128_fp8_fp8", 8),
        sm<FP8O, BF8O, 16, 128>("v_smfmac_f32_16x16x128_fp8_bf8", 8),
        sm<BF8O, FP8O, 16, 128>("v_smfmac_f32_16x16x128_bf8_fp8", 8),
        sm<BF8O, BF8O, 16, 128>("v_smfmac_f32_16x16x128_bf8_bf8", 8),
        sm<FP8O, FP8O, 32, 64>("v_smfmac_f32_32x32x64_fp8_fp8", 16),
        sm<FP8O, BF8O, 32, 64>("v_smfmac_f32_32x32x64_fp8_bf8", 16),
        sm<BF8O, FP8O, 32, 64>("v_smfmac_f32_32x32x64_bf8_fp8", 16),
        sm<BF8O, BF8O, 32, 64>("v_smfmac_f32_32x32x64_bf8_bf8", 16),
    };
    return rows;
}

}  // namespace hipscope::HIPSCOPE_ISA
