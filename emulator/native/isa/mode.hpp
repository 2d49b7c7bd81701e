// The MODE register's floating-point part (rounding, denormals) put in force on the host while a handler computes.
// In: Wave::mode. Costs one compare when MODE is the default.
#pragma once

#include <cstdint>

#include "isa/number.hpp"

#if defined(__x86_64__)
#include <xmmintrin.h>
#endif

namespace hipscope::HIPSCOPE_ISA {

inline constexpr u32 mode_dx10_clamp_bit = 8, mode_ieee_bit = 9, mode_fp16_overflow_bit = 23;
inline constexpr u32 mode_float_bits = 0xff;
inline constexpr u32 mode_float_default = 0xf0;  // nearest even, all denormals kept

/// FP16_OVFL: what is too large for a half or an 8-bit float becomes the largest one.
HIPSCOPE_INLINE bool clamps_overflow(u32 mode) { return ((mode >> mode_fp16_overflow_bit) & 1U) != 0; }

/// Nothing of MODE changes a result from what UsualMode (mode_rules.hpp) gives.
HIPSCOPE_INLINE bool is_usual(u32 mode) {
    constexpr u32 ieee = 1U << mode_ieee_bit, changing = mode_float_bits | ieee | 1U << mode_fp16_overflow_bit;
    return (mode & changing) == (mode_float_default | ieee);
}

/// The same but for denormals.
HIPSCOPE_INLINE bool is_usual_but_for_denormals(u32 mode) {
    constexpr u32 ieee = 1U << mode_ieee_bit, rounding = 0x0f;
    return (mode & (rounding | ieee | 1U << mode_fp16_overflow_bit)) == ieee;
}

class ModeGuard {
public:
    /// `wide`: the operands are f64 or f16, which have rounding and denormal fields of their own. `wide_result`: so is the result.
    HIPSCOPE_INLINE static ModeGuard when(bool uses_floats, bool wide, bool wide_result, u32 mode) {
        constexpr u32 keeps_results = 0x20;
        const u32 fields = wide ? mode >> 2U : mode, of_result = wide_result ? mode >> 2U : mode;
        return ModeGuard(uses_floats && (mode & mode_float_bits) != mode_float_default, (fields & ~keeps_results) | (of_result & keeps_results));
    }
    HIPSCOPE_INLINE ~ModeGuard() {
        if (changed_) [[unlikely]] restore();
    }
    ModeGuard(const ModeGuard&) = delete;
    ModeGuard& operator=(const ModeGuard&) = delete;

private:
    HIPSCOPE_INLINE ModeGuard(bool change, u32 mode) : changed_(change) {
        if (change) [[unlikely]] set(mode);
    }
#if defined(__x86_64__)
    void set(u32 mode) {
        saved_ = _mm_getcsr();
        constexpr u32 rounding[4] = {0x0000, 0x4000, 0x2000, 0x6000};  // nearest, +inf, -inf, zero
        u32 csr = (saved_ & ~0xe040U) | rounding[mode & 3U];
        if ((mode & 0x10U) == 0) csr |= 0x0040U;  // single-precision inputs flushed
        if ((mode & 0x20U) == 0) csr |= 0x8000U;  // single-precision results flushed
        __asm__ volatile("ldmxcsr %0" : : "m"(csr) : "memory");
    }
    void restore() { __asm__ volatile("ldmxcsr %0" : : "m"(saved_) : "memory"); }
#else
    void set(u32 mode) {
        __asm__ volatile("mrs %0, fpcr" : "=r"(saved_) : : "memory");
        u64 control = saved_ & ~0x1c00000ULL;
        constexpr u64 rounding[4] = {0, 1, 2, 3};
        control |= rounding[mode & 3U] << 22U;
        if ((mode & 0x30U) != 0x30U) control |= 1ULL << 24U;
        __asm__ volatile("msr fpcr, %0" : : "r"(control) : "memory");
    }
    void restore() { __asm__ volatile("msr fpcr, %0" : : "r"(saved_) : "memory"); }
#endif
#if defined(__x86_64__)
    u32 saved_ = 0;
#else
    u64 saved_ = 0;
#endif
    bool changed_;
};

}  // namespace hipscope::HIPSCOPE_ISA
