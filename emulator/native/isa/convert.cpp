// Conversions between number formats, rounding to integers, and splitting into mantissa and exponent
// (manual sections 12.8 and 12.11).
#include "isa/families.hpp"
#include "isa/lanes.hpp"

namespace hipscope::HIPSCOPE_ISA {
namespace {

HIPSCOPE_INLINE u32 byte_of(u32 a, u32 n) { return (a >> (8U * n)) & 0xffU; }

template <class T>
HIPSCOPE_INLINE T quiet_nan(T result, T source) { return is_nan(source) ? quiet(source) : result; }

HIPSCOPE_INLINE f32 narrow_double(f64 x) { return static_cast<f32>(x); }

template <class T>
T fraction(T x) {  // below one even where x - floor(x) rounds to it
    constexpr T most = sizeof(T) == 8 ? T(0x1.fffffffffffffp-1) : T(0x1.fffffep-1);
    if (is_nan(x)) return quiet(x);
    if (std::isinf(x)) return default_nan<T>;
    const T r = x - std::floor(x);
    return r < most ? r : most;
}

template <class T>
bool not_finite(T x) { return is_nan(x) || std::isinf(x); }
template <class T>
i32 frexp_exponent(T x) {
    int e = 0;
    if (!not_finite(x)) std::frexp(x, &e);
    return e;
}
template <class T>
T frexp_mantissa(T x) {
    int e = 0;
    return not_finite(x) ? quiet_nan(x, x) : std::frexp(x, &e);
}

/// Normalised conversions: [-1, 1] or [0, 1] to 16 bits.
u32 signed_norm(f32 x) { return static_cast<u16>(is_nan(x) ? 0 : static_cast<i32>(round_even(std::fmin(std::fmax(x, -1.0F), 1.0F) * 32767.0F))); }
u32 unsigned_norm(f32 x) { return static_cast<u16>(is_nan(x) ? 0 : static_cast<i32>(round_even(std::fmin(std::fmax(x, 0.0F), 1.0F) * 65535.0F))); }
u32 clamp_i16(i32 x) { return static_cast<u16>(x > 32767 ? 32767 : x < -32768 ? -32768 : x); }
u32 clamp_u16(u32 x) { return x > 0xffffU ? 0xffffU : x; }

/// The 8-bit floats of gfx94x: fp8 = e4m3 with bias 8, bf8 = e5m2 with bias 16; 0x80 is NaN, there is no infinity or -0.
template <int mantissa_bits, int bias>
f32 widen_byte(u32 byte) {
    constexpr u32 exponent_bits = 7 - mantissa_bits;
    if (byte == 0x80) return default_nan<f32>;
    const u32 mantissa = byte & ((1U << mantissa_bits) - 1U), exponent = (byte >> mantissa_bits) & ((1U << exponent_bits) - 1U);
    const f32 magnitude = exponent == 0 ? std::ldexp(static_cast<f32>(mantissa), 1 - bias - mantissa_bits)
                                        : std::ldexp(static_cast<f32>(mantissa + (1U << mantissa_bits)), static_cast<int>(exponent) - bias - mantissa_bits);
    return (byte & 0x80U) != 0 ? -magnitude : magnitude;
}
template <int mantissa_bits, int bias>
u32 narrow_byte(f32 x, bool saturate) {
    constexpr u32 largest = 0x7f;
    const u32 sign = sign_bit(x) ? 0x80U : 0U;
    if (not_finite(x)) return saturate && !is_nan(x) ? sign | largest : 0x80;
    const f32 magnitude = std::fabs(x);
    int e = 0;
    std::frexp(magnitude, &e);
    const int lowest = 1 - bias;
    const int exponent = e - 1 < lowest ? lowest : e - 1;
    const f32 steps = round_even(std::ldexp(magnitude, mantissa_bits - exponent));
    u32 code = static_cast<u32>(steps);
    if (code == 0) return 0;  // no negative zero
    if (code >= (1U << mantissa_bits)) code += static_cast<u32>(exponent - lowest) << mantissa_bits;
    if (code > largest) return saturate ? sign | largest : 0x80;
    return sign | code;
}
u32 to_fp8(f32 x, bool saturate) { return narrow_byte<3, 8>(x, saturate); }
u32 to_bf8(f32 x, bool saturate) { return narrow_byte<2, 16>(x, saturate); }
f32 from_fp8(u32 b) { return widen_byte<3, 8>(b & 0xffU); }
f32 from_bf8(u32 b) { return widen_byte<2, 16>(b & 0xffU); }

/// v_cvt_pk_fp8/bf8: two bytes into one half of the register, op_sel chooses which.
template <u32 (*convert)(f32, bool)>
Step pack_bytes(Wave& w, const Instruction& in) {
    alignas(64) RowBuffer a, b;
    u64 active = w.exec();
    const Row x = fetch<f32>(w, in, 0, a, active), y = fetch<f32>(w, in, 1, b, active);
    u32* to = w.vgpr[in.destination[0].index];
    const bool high = (in.modifiers.op_sel & 8U) != 0, saturate = clamps_overflow(w.mode);
    for (u64 left = active; left != 0; left &= left - 1) {
        const int i = std::countr_zero(left);
        const u32 pair = convert(bits<f32>(x.lo[i]), saturate) | (convert(bits<f32>(y.lo[i]), saturate) << 8U);
        to[i] = high ? (to[i] & 0xffffU) | (pair << 16U) : (to[i] & 0xffff0000U) | pair;
    }
    return Step::next;
}
/// v_cvt_sr_fp8/bf8: stochastic rounding by adding the second source below the kept mantissa bits.
template <u32 (*convert)(f32, bool), u32 dropped_bits>
Step stochastic_byte(Wave& w, const Instruction& in) {
    alignas(64) RowBuffer a, b;
    u64 active = w.exec();
    const Row x = fetch<f32>(w, in, 0, a, active), noise = fetch<u32>(w, in, 1, b, active);
    u32* to = w.vgpr[in.destination[0].index];
    const u32 shift = 8U * ((in.modifiers.op_sel >> 2U) & 3U);
    for (u64 left = active; left != 0; left &= left - 1) {
        const int i = std::countr_zero(left);
        const u32 value = x.lo[i];
        const u32 kept_mask = ~((1U << dropped_bits) - 1U);
        const u32 noisy = (value + (noise.lo[i] >> (32U - dropped_bits))) & kept_mask;
        const bool too_large = not_finite(bits<f32>(value)) || not_finite(bits<f32>(noisy));
        const u32 byte = convert(bits<f32>(too_large ? value : noisy), clamps_overflow(w.mode));
        to[i] = (to[i] & ~(0xffU << shift)) | (byte << shift);
    }
    return Step::next;
}
/// v_cvt_pk_f32_fp8/bf8: two bytes of a half (op_sel or SDWA word) to two floats.
template <f32 (*convert)(u32)>
Step unpack_bytes(Wave& w, const Instruction& in) {
    alignas(64) RowBuffer a;
    u64 active = w.exec();
    const Row x = fetch<u32>(w, in, 0, a, active);
    const u32 shift = (in.modifiers.op_sel & 1U) != 0 ? 16 : 0;
    u32(*to)[kLanes] = w.vgpr + in.destination[0].index;
    for (u64 left = active; left != 0; left &= left - 1) {
        const int i = std::countr_zero(left);
        const u32 pair = x.lo[i] >> shift;
        to[0][i] = bits<u32>(convert(pair & 0xffU));
        to[1][i] = bits<u32>(convert((pair >> 8U) & 0xffU));
    }
    return Step::next;
}

}  // namespace

Table convert() {
    static constexpr Entry rows[] = {
        op("v_cvt_f32_i32", Unit::valu, [](i32 a) { return static_cast<f32>(a); }),
        op("v_cvt_f32_u32", Unit::valu, [](u32 a) { return static_cast<f32>(a); }),
        op("v_cvt_i32_f32", Unit::valu, [](f32 a) { return saturate<i32>(a); }),
        op("v_cvt_u32_f32", Unit::valu, [](f32 a) { return saturate<u32>(a); }),
        op("v_cvt_rpi_i32_f32", Unit::valu, [](f32 a) { return saturate<i32>(std::floor(a + 0.5F)); }),
        op("v_cvt_flr_i32_f32", Unit::valu, [](f32 a) { return saturate<i32>(std::floor(a)); }),
        op("v_cvt_f32_ubyte0", Unit::valu, [](u32 a) { return static_cast<f32>(byte_of(a, 0)); }),
        op("v_cvt_f32_ubyte1", Unit::valu, [](u32 a) { return static_cast<f32>(byte_of(a, 1)); }),
        op("v_cvt_f32_ubyte2", Unit::valu, [](u32 a) { return static_cast<f32>(byte_of(a, 2)); }),
        op("v_cvt_f32_ubyte3", Unit::valu, [](u32 a) { return static_cast<f32>(byte_of(a, 3)); }),
        op("v_cvt_off_f32_i4", Unit::valu, [](u32 a) { return static_cast<f32>(static_cast<i32>(a << 28U) >> 28) * 0.0625F; }),
        op("v_cvt_f64_f32", Unit::valu, [](f32 a) { return with_gpu_nan<f64>(static_cast<f64>(a), static_cast<f64>(a)); }),
        op("v_cvt_f32_f64", Unit::valu, [](f64 a) { return narrow_double(a); }),
        op("v_cvt_f64_i32", Unit::valu, [](i32 a) { return static_cast<f64>(a); }),
        op("v_cvt_f64_u32", Unit::valu, [](u32 a) { return static_cast<f64>(a); }),
        op("v_cvt_i32_f64", Unit::valu, [](f64 a) { return saturate<i32>(a); }),
        op("v_cvt_u32_f64", Unit::valu, [](f64 a) { return saturate<u32>(a); }),
        mode_op("v_cvt_f32_f16", Unit::valu, [](auto, f16 a) { return is_nan(a) ? quiet(widen(a)) : widen(a); }),
        mode_op("v_cvt_f16_f32", Unit::valu, [](auto m, f32 a) { return m.narrow(a); }),
        mode_op("v_cvt_f16_u16", Unit::valu, [](auto m, u16 a) { return m.narrow(static_cast<f32>(a)); }),
        mode_op("v_cvt_f16_i16", Unit::valu, [](auto m, i16 a) { return m.narrow(static_cast<f32>(a)); }),
        op("v_cvt_u16_f16", Unit::valu, [](f16 a) { return saturate<u16>(widen(a)); }),
        op("v_cvt_i16_f16", Unit::valu, [](f16 a) { return saturate<i16>(widen(a)); }),
        slow_op("v_cvt_norm_i16_f16", Unit::valu, [](f16 a) { return static_cast<u16>(signed_norm(widen(a))); }),
        slow_op("v_cvt_norm_u16_f16", Unit::valu, [](f16 a) { return static_cast<u16>(unsigned_norm(widen(a))); }),
        slow_mode_op("v_cvt_pkrtz_f16_f32", Unit::valu, [](auto m, f32 a, f32 b) { return u32{m.flushed(narrow_toward_zero(a)).bits} | (u32{m.flushed(narrow_toward_zero(b)).bits} << 16U); }),
        slow_op("v_cvt_pknorm_i16_f32", Unit::valu, [](f32 a, f32 b) { return signed_norm(a) | (signed_norm(b) << 16U); }),
        slow_op("v_cvt_pknorm_u16_f32", Unit::valu, [](f32 a, f32 b) { return unsigned_norm(a) | (unsigned_norm(b) << 16U); }),
        slow_op("v_cvt_pknorm_i16_f16", Unit::valu, [](f16 a, f16 b) { return signed_norm(widen(a)) | (signed_norm(widen(b)) << 16U); }),
        slow_op("v_cvt_pknorm_u16_f16", Unit::valu, [](f16 a, f16 b) { return unsigned_norm(widen(a)) | (unsigned_norm(widen(b)) << 16U); }),
        op("v_cvt_pk_u16_u32", Unit::valu, [](u32 a, u32 b) { return clamp_u16(a) | (clamp_u16(b) << 16U); }),
        op("v_cvt_pk_i16_i32", Unit::valu, [](i32 a, i32 b) { return clamp_i16(a) | (clamp_i16(b) << 16U); }),
        slow_op("v_cvt_pk_u8_f32", Unit::valu, [](f32 a, u32 n, u32 c) { const u32 s = 8U * (n & 3U), v = saturate<u32>(round_even(a)); return (c & ~(0xffU << s)) | ((v > 255 ? 255U : v) << s); }),
        slow_op("v_cvt_pkaccum_u8_f32", Unit::valu, [](f32 a, u32 n, u32 d) { const u32 s = 8U * (n & 3U), v = saturate<u32>(round_even(a)); return (d & ~(0xffU << s)) | ((v > 255 ? 255U : v) << s); }).accumulate(),
        slow_op("v_cvt_f32_fp8", Unit::valu, [](u32 a) { return from_fp8(a); }),
        slow_op("v_cvt_f32_bf8", Unit::valu, [](u32 a) { return from_bf8(a); }),
        special("v_cvt_pk_f32_fp8", Unit::valu, 1, {Type::b32}, [](Wave& w, const Instruction& in) { return unpack_bytes<from_fp8>(w, in); }),
        special("v_cvt_pk_f32_bf8", Unit::valu, 1, {Type::b32}, [](Wave& w, const Instruction& in) { return unpack_bytes<from_bf8>(w, in); }),
        special("v_cvt_pk_fp8_f32", Unit::valu, 1, {Type::f32, Type::f32}, [](Wave& w, const Instruction& in) { return pack_bytes<to_fp8>(w, in); }),
        special("v_cvt_pk_bf8_f32", Unit::valu, 1, {Type::f32, Type::f32}, [](Wave& w, const Instruction& in) { return pack_bytes<to_bf8>(w, in); }),
        special("v_cvt_sr_fp8_f32", Unit::valu, 1, {Type::f32, Type::b32}, [](Wave& w, const Instruction& in) { return stochastic_byte<to_fp8, 20>(w, in); }),
        special("v_cvt_sr_bf8_f32", Unit::valu, 1, {Type::f32, Type::b32}, [](Wave& w, const Instruction& in) { return stochastic_byte<to_bf8, 21>(w, in); }),

        op("v_floor_f32", Unit::valu, [](f32 a) { return quiet_nan(__builtin_floorf(a), a); }),
        op("v_ceil_f32", Unit::valu, [](f32 a) { return quiet_nan(__builtin_ceilf(a), a); }),
        op("v_trunc_f32", Unit::valu, [](f32 a) { return quiet_nan(__builtin_truncf(a), a); }),
        op("v_rndne_f32", Unit::valu, [](f32 a) { return quiet_nan(__builtin_roundevenf(a), a); }),
        op("v_fract_f32", Unit::valu, [](f32 a) { return fraction(a); }),
        op("v_floor_f64", Unit::valu, [](f64 a) { return quiet_nan(__builtin_floor(a), a); }),
        op("v_ceil_f64", Unit::valu, [](f64 a) { return quiet_nan(__builtin_ceil(a), a); }),
        op("v_trunc_f64", Unit::valu, [](f64 a) { return quiet_nan(__builtin_trunc(a), a); }),
        op("v_rndne_f64", Unit::valu, [](f64 a) { return quiet_nan(__builtin_roundeven(a), a); }),
        op("v_fract_f64", Unit::valu, [](f64 a) { return fraction(a); }),
        op("v_floor_f16", Unit::valu, [](f16 a) { return narrow(__builtin_floorf(widen(a))); }),
        op("v_ceil_f16", Unit::valu, [](f16 a) { return narrow(__builtin_ceilf(widen(a))); }),
        op("v_trunc_f16", Unit::valu, [](f16 a) { return narrow(__builtin_truncf(widen(a))); }),
        op("v_rndne_f16", Unit::valu, [](f16 a) { return narrow(__builtin_roundevenf(widen(a))); }),
        mode_op("v_fract_f16", Unit::valu, [](auto m, f16 a) { const f32 x = widen(a), r = x - __builtin_floorf(x); return is_nan(a) ? quiet(a) : m.narrow(r < 0.99951171875F ? r : std::isinf(x) ? default_nan<f32> : 0.99951171875F); }),
        slow_mode_op("v_frexp_exp_i32_f32", Unit::valu, [](auto, f32 a) { return frexp_exponent(a); }),
        slow_mode_op("v_frexp_mant_f32", Unit::valu, [](auto, f32 a) { return frexp_mantissa(a); }),
        slow_mode_op("v_frexp_exp_i32_f64", Unit::valu, [](auto, f64 a) { return frexp_exponent(a); }),
        slow_mode_op("v_frexp_mant_f64", Unit::valu, [](auto, f64 a) { return frexp_mantissa(a); }),
        slow_mode_op("v_frexp_exp_i16_f16", Unit::valu, [](auto, f16 a) { return static_cast<i16>(frexp_exponent(widen(a))); }),
        slow_mode_op("v_frexp_mant_f16", Unit::valu, [](auto, f16 a) { return narrow(frexp_mantissa(widen(a))); }),
    };
    return rows;
}

}  // namespace hipscope::HIPSCOPE_ISA
