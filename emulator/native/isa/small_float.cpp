// gfx950's conversions from and to its 4-, 6- and 8-bit floats (manual of CDNA 4, section 12.11).
// The scale is the exponent of a float operand; sources of several values lie in neighbouring registers, packed from bit 0.
#include "isa/small_float.hpp"

#include <cstring>

#include "isa/families.hpp"
#include "isa/lanes.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

/// Wide formats as bits in registers.
struct WideF32 {
    static constexpr u32 bits = 32;
    static f64 value(u32 b) { return static_cast<f64>(HIPSCOPE_ISA::bits<f32>(b)); }
    static u32 code(f64 v, bool) { return HIPSCOPE_ISA::bits<u32>(static_cast<f32>(v)); }
};
struct WideF16 {
    static constexpr u32 bits = 16;
    static f64 value(u32 b) { return static_cast<f64>(widen(f16{static_cast<u16>(b)})); }
    static u32 code(f64 v, bool clamps) { const u32 b = narrow(v).bits; return clamps && (b & 0x7fffU) == 0x7c00U && !std::isinf(v) ? b - 1U : b; }
};
struct WideBf16 {
    static constexpr u32 bits = 16;
    static f64 value(u32 b) { return static_cast<f64>(widen_bfloat(b & 0xffffU)); }
    static u32 code(f64 v, bool) { return narrow_bfloat(static_cast<f32>(v)); }
};

/// Packed fields of up to 1024 bits.
struct Fields {
    u32 word[32] = {};
    [[nodiscard]] u32 get(u32 first, u32 width) const {
        const u64 pair = u64{word[first / 32]} | (first / 32 + 1 < 32 ? u64{word[first / 32 + 1]} << 32U : 0U);
        return static_cast<u32>(pair >> (first % 32)) & (width == 32 ? ~0U : (1U << width) - 1U);
    }
    void put(u32 first, u32 width, u32 value) {
        word[first / 32] |= value << (first % 32);
        if (first % 32 + width > 32) word[first / 32 + 1] |= value >> (32U - first % 32);
    }
};
void read_registers(const Wave& w, const Operand& o, int lane, u32 bits, u32* to) {
    for (u32 n = 0; n < (bits + 31U) / 32U; ++n) to[n] = w.vgpr[o.index + n][lane];
}
void write_part(Wave& w, const Instruction& in, int lane, u32 first, u32 bits, u32 value) {
    u32& r = w.vgpr[in.destination[0].index][lane];
    const u32 mask = ((1U << bits) - 1U) << first;
    r = (r & ~mask) | (value << first);
}

/// For each active lane: f(lane, scale as a power of two). Source k holds the scale.
template <class F>
Step with_scale(Wave& w, const Instruction& in, int k, F f) {
    alignas(64) RowBuffer buffer;
    u64 active = w.exec();
    const Row scale = fetch<u32>(w, in, k, buffer, active);
    for (u64 left = active; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        f(lane, scale_of((scale.lo[lane] >> 23U) & 0xffU));
    }
    return Step::next;
}

/// `count` small values to wide ones. Of a register that holds more of them, op_sel chooses which.
template <class Small, class Wide, u32 count>
Step expand(Wave& w, const Instruction& in) {
    constexpr u32 packed = Small::bits * count;
    const u32 selected = packed >= 32 ? 0 : packed * (in.modifiers.op_sel & (32U / packed - 1U));
    return with_scale(w, in, 1, [&](int lane, f64 scale) {
        Fields from, to;
        read_registers(w, in.source[0], lane, packed, from.word);
        for (u32 n = 0; n < count; ++n) to.put(n * Wide::bits, Wide::bits, Wide::code(from_small<Small>(from.get(selected + n * Small::bits, Small::bits)) * scale, clamps_overflow(w.mode)));
        if constexpr (count * Wide::bits < 32) {
            write_part(w, in, lane, (in.modifiers.op_sel & 8U) != 0 ? 16 : 0, Wide::bits, to.word[0]);
        } else {
            for (u32 n = 0; n < count * Wide::bits / 32; ++n) w.vgpr[in.destination[0].index + n][lane] = to.word[n];
        }
    });
}

/// Where the results go: whole registers, or the byte or word of one that op_sel chooses.
template <class Small, u32 count>
void store_small(Wave& w, const Instruction& in, int lane, const Fields& to) {
    constexpr u32 packed = Small::bits * count;
    if constexpr (packed < 32) {
        const u32 selected = packed == 16 ? 16U * (in.modifiers.op_sel >> 3U) : 8U * (in.modifiers.op_sel >> 2U);
        write_part(w, in, lane, selected & 31U, packed, to.word[0]);
    } else {
        for (u32 n = 0; n < packed / 32; ++n) w.vgpr[in.destination[0].index + n][lane] = to.word[n];
    }
}

/// `count` wide values, packed in one source, to small ones; with a source of noise in between when stochastic.
template <class Small, class Wide, u32 count, bool stochastic>
Step compress(Wave& w, const Instruction& in) {
    alignas(64) RowBuffer buffer, first;
    u64 active = w.exec();
    Row noise{};
    if constexpr (stochastic) noise = fetch<u32>(w, in, 1, buffer, active);
    Row single{};
    if constexpr (count * Wide::bits <= 32) {
        if constexpr (Wide::bits == 32) single = fetch<f32>(w, in, 0, first, active);
        else single = fetch<u32>(w, in, 0, first, active);
    }
    return with_scale(w, in, stochastic ? 2 : 1, [&](int lane, f64 scale) {
        Fields from, to;
        if constexpr (count * Wide::bits <= 32) from.word[0] = single.lo[lane];
        else read_registers(w, in.source[0], lane, count * Wide::bits, from.word);
        Rounding rounding{clamps_overflow(w.mode), stochastic, stochastic ? noise.lo[lane] : 0};
        for (u32 n = 0; n < count; ++n) {
            to.put(n * Small::bits, Small::bits, to_small<Small>(Wide::value(from.get(n * Wide::bits, Wide::bits)) / scale, rounding));
            rounding.noise = next_random(rounding.noise);
        }
        store_small<Small, count>(w, in, lane, to);
    });
}

/// Singles of two sources in turn: one each, or sixteen each.
template <class Small, u32 each>
Step interleave(Wave& w, const Instruction& in) {
    alignas(64) RowBuffer a, b;
    u64 active = w.exec();
    Row x{}, y{};
    if constexpr (each == 1) {
        x = fetch<f32>(w, in, 0, a, active);
        y = fetch<f32>(w, in, 1, b, active);
    }
    return with_scale(w, in, 2, [&](int lane, f64 scale) {
        u32 from[2][each];
        if constexpr (each == 1) {
            from[0][0] = x.lo[lane];
            from[1][0] = y.lo[lane];
        } else {
            for (u32 k = 0; k < 2; ++k) read_registers(w, in.source[k], lane, 32 * each, from[k]);
        }
        Fields to;
        for (u32 n = 0; n < 2 * each; ++n) to.put(n * Small::bits, Small::bits, to_small<Small>(WideF32::value(from[n % 2][n / 2]) / scale, {clamps_overflow(w.mode)}));
        store_small<Small, 2 * each>(w, in, lane, to);
    });
}

/// Conversions without a scale under gfx942's names.
template <class Small>
Step pack_pair(Wave& w, const Instruction& in) {
    alignas(64) RowBuffer a, b;
    u64 active = w.exec();
    const Row x = fetch<f32>(w, in, 0, a, active), y = fetch<f32>(w, in, 1, b, active);
    const Rounding rounding{clamps_overflow(w.mode)};
    for (u64 left = active; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        const u32 pair = to_small<Small>(WideF32::value(x.lo[lane]), rounding) | to_small<Small>(WideF32::value(y.lo[lane]), rounding) << 8U;
        write_part(w, in, lane, (in.modifiers.op_sel & 8U) != 0 ? 16 : 0, 16, pair);
    }
    return Step::next;
}
template <class Small>
Step stochastic_byte(Wave& w, const Instruction& in) {
    alignas(64) RowBuffer a, b;
    u64 active = w.exec();
    const Row x = fetch<f32>(w, in, 0, a, active), noise = fetch<u32>(w, in, 1, b, active);
    for (u64 left = active; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        write_part(w, in, lane, 8U * ((in.modifiers.op_sel >> 2U) & 3U), 8, to_small<Small>(WideF32::value(x.lo[lane]), {clamps_overflow(w.mode), true, noise.lo[lane]}));
    }
    return Step::next;
}
template <class Small>
Step unpack_pair(Wave& w, const Instruction& in) {
    alignas(64) RowBuffer a;
    u64 active = w.exec();
    const Row x = fetch<u32>(w, in, 0, a, active);
    const u32 shift = (in.modifiers.op_sel & 1U) != 0 ? 16 : 0;
    for (u64 left = active; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        const u32 pair = x.lo[lane] >> shift;
        for (u32 n = 0; n < 2; ++n) w.vgpr[in.destination[0].index + n][lane] = WideF32::code(from_small<Small>((pair >> (8U * n)) & 0xffU), false);
    }
    return Step::next;
}

constexpr Entry row(std::string_view name, Handler run, std::initializer_list<Type> sources) {
    Entry e;
    e.name = name;
    e.unit = Unit::valu;
    e.run = run;
    e.destinations = 1;
    e.float_result = true;
    for (const Type t : sources) e.source[e.sources++] = t;
    return e;
}
template <class Small, class Wide, u32 count>
constexpr Entry wider(std::string_view name) { return row(name, &expand<Small, Wide, count>, {Type::b32, Type::f32}); }
template <class Small, class Wide, u32 count>
constexpr Entry smaller_from(std::string_view name) { return row(name, &compress<Small, Wide, count, false>, {count * Wide::bits == 32 && Wide::bits == 32 ? Type::f32 : Type::b32, Type::f32}); }
template <class Small, class Wide, u32 count>
constexpr Entry noisy(std::string_view name) { return row(name, &compress<Small, Wide, count, true>, {count * Wide::bits == 32 && Wide::bits == 32 ? Type::f32 : Type::b32, Type::b32, Type::f32}); }
template <class Small, u32 each>
constexpr Entry pairs(std::string_view name) { return row(name, &interleave<Small, each>, {Type::f32, Type::f32, Type::f32}); }

}  // namespace

Table small_float() {
    static constexpr Entry rows[] = {
        slow_op("v_cvt_f32_fp8@gfx950", Unit::valu, [](u32 a) { return static_cast<f32>(from_small<OcpFp8>(a & 0xffU)); }),
        slow_op("v_cvt_f32_bf8@gfx950", Unit::valu, [](u32 a) { return static_cast<f32>(from_small<OcpBf8>(a & 0xffU)); }),
        row("v_cvt_pk_f32_fp8@gfx950", &unpack_pair<OcpFp8>, {Type::b32}),
        row("v_cvt_pk_f32_bf8@gfx950", &unpack_pair<OcpBf8>, {Type::b32}),
        row("v_cvt_pk_fp8_f32@gfx950", &pack_pair<OcpFp8>, {Type::f32, Type::f32}),
        row("v_cvt_pk_bf8_f32@gfx950", &pack_pair<OcpBf8>, {Type::f32, Type::f32}),
        row("v_cvt_sr_fp8_f32@gfx950", &stochastic_byte<OcpFp8>, {Type::f32, Type::b32}),
        row("v_cvt_sr_bf8_f32@gfx950", &stochastic_byte<OcpBf8>, {Type::f32, Type::b32}),

        wider<OcpFp8, WideF32, 1>("v_cvt_scalef32_f32_fp8"),
        wider<OcpBf8, WideF32, 1>("v_cvt_scalef32_f32_bf8"),
        wider<OcpFp8, WideF16, 1>("v_cvt_scalef32_f16_fp8"),
        wider<OcpBf8, WideF16, 1>("v_cvt_scalef32_f16_bf8"),
        wider<OcpFp8, WideF32, 2>("v_cvt_scalef32_pk_f32_fp8"),
        wider<OcpBf8, WideF32, 2>("v_cvt_scalef32_pk_f32_bf8"),
        wider<OcpFp4, WideF32, 2>("v_cvt_scalef32_pk_f32_fp4"),
        wider<OcpFp8, WideF16, 2>("v_cvt_scalef32_pk_f16_fp8"),
        wider<OcpBf8, WideF16, 2>("v_cvt_scalef32_pk_f16_bf8"),
        wider<OcpFp4, WideF16, 2>("v_cvt_scalef32_pk_f16_fp4"),
        wider<OcpFp8, WideBf16, 2>("v_cvt_scalef32_pk_bf16_fp8"),
        wider<OcpBf8, WideBf16, 2>("v_cvt_scalef32_pk_bf16_bf8"),
        wider<OcpFp4, WideBf16, 2>("v_cvt_scalef32_pk_bf16_fp4"),
        wider<OcpFp6, WideF32, 32>("v_cvt_scalef32_pk32_f32_fp6"),
        wider<OcpBf6, WideF32, 32>("v_cvt_scalef32_pk32_f32_bf6"),
        wider<OcpFp6, WideF16, 32>("v_cvt_scalef32_pk32_f16_fp6"),
        wider<OcpBf6, WideF16, 32>("v_cvt_scalef32_pk32_f16_bf6"),
        wider<OcpFp6, WideBf16, 32>("v_cvt_scalef32_pk32_bf16_fp6"),
        wider<OcpBf6, WideBf16, 32>("v_cvt_scalef32_pk32_bf16_bf6"),

        pairs<OcpFp8, 1>("v_cvt_scalef32_pk_fp8_f32"),
        pairs<OcpBf8, 1>("v_cvt_scalef32_pk_bf8_f32"),
        pairs<OcpFp4, 1>("v_cvt_scalef32_pk_fp4_f32"),
        pairs<OcpFp6, 16>("v_cvt_scalef32_2xpk16_fp6_f32"),
        pairs<OcpBf6, 16>("v_cvt_scalef32_2xpk16_bf6_f32"),
        smaller_from<OcpFp8, WideF16, 2>("v_cvt_scalef32_pk_fp8_f16"),
        smaller_from<OcpBf8, WideF16, 2>("v_cvt_scalef32_pk_bf8_f16"),
        smaller_from<OcpFp4, WideF16, 2>("v_cvt_scalef32_pk_fp4_f16"),
        smaller_from<OcpFp8, WideBf16, 2>("v_cvt_scalef32_pk_fp8_bf16"),
        smaller_from<OcpBf8, WideBf16, 2>("v_cvt_scalef32_pk_bf8_bf16"),
        smaller_from<OcpFp4, WideBf16, 2>("v_cvt_scalef32_pk_fp4_bf16"),
        smaller_from<OcpFp6, WideF16, 32>("v_cvt_scalef32_pk32_fp6_f16"),
        smaller_from<OcpBf6, WideF16, 32>("v_cvt_scalef32_pk32_bf6_f16"),
        smaller_from<OcpFp6, WideBf16, 32>("v_cvt_scalef32_pk32_fp6_bf16"),
        smaller_from<OcpBf6, WideBf16, 32>("v_cvt_scalef32_pk32_bf6_bf16"),

        noisy<OcpFp8, WideF32, 1>("v_cvt_scalef32_sr_fp8_f32"),
        noisy<OcpBf8, WideF32, 1>("v_cvt_scalef32_sr_bf8_f32"),
        noisy<OcpFp8, WideF16, 1>("v_cvt_scalef32_sr_fp8_f16"),
        noisy<OcpBf8, WideF16, 1>("v_cvt_scalef32_sr_bf8_f16"),
        noisy<OcpFp8, WideBf16, 1>("v_cvt_scalef32_sr_fp8_bf16"),
        noisy<OcpBf8, WideBf16, 1>("v_cvt_scalef32_sr_bf8_bf16"),
        noisy<OcpFp4, WideF32, 2>("v_cvt_scalef32_sr_pk_fp4_f32"),
        noisy<OcpFp4, WideF16, 2>("v_cvt_scalef32_sr_pk_fp4_f16"),
        noisy<OcpFp4, WideBf16, 2>("v_cvt_scalef32_sr_pk_fp4_bf16"),
        noisy<OcpFp6, WideF32, 32>("v_cvt_scalef32_sr_pk32_fp6_f32"),
        noisy<OcpBf6, WideF32, 32>("v_cvt_scalef32_sr_pk32_bf6_f32"),
        noisy<OcpFp6, WideF16, 32>("v_cvt_scalef32_sr_pk32_fp6_f16"),
        noisy<OcpBf6, WideF16, 32>("v_cvt_scalef32_sr_pk32_bf6_f16"),
        noisy<OcpFp6, WideBf16, 32>("v_cvt_scalef32_sr_pk32_fp6_bf16"),
        noisy<OcpBf6, WideBf16, 32>("v_cvt_scalef32_sr_pk32_bf6_bf16"),
    };
    return rows;
}

}  // namespace hipscope::HIPSCOPE_ISA
