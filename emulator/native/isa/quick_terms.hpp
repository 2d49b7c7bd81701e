// What the quick ways of the special functions have in common (quick_rows.hpp for AVX-512, quick_lanes.hpp for all other processors).
//
// In: 64 floats. Out: the floats nearest to the exact values, or that some may not be. A value is worked out in double precision to
// within 2^-40 of the exact one. It rounds to the same float as that one unless a boundary between two floats is about as near:
// such waves, and those with results that are denormal or not defined, are left to who knows the long way.
#pragma once

#include "isa/number.hpp"

namespace hipscope::HIPSCOPE_ISA {

// The coefficients are those of the least relative error (Remez): 2^-40.2 for exp2, 2^-43.8 for the sine, 2^-45.0 for log2.
constexpr f64 exp2_terms[] = {0x1.ffffffffff7a3p-1, 0x1.62e42fef8615ep-1, 0x1.ebfbdff9319e2p-3, 0x1.c6b08dd46d38ep-5, 0x1.3b2ab5c529237p-7,
                              0x1.5d87483855d98p-10, 0x1.430acca34b829p-13, 0x1.00dad2502cf74p-16, 0x1.61afceb6915d4p-20};
constexpr f64 log2_terms[] = {0x1.71547652b8251p+1, 0x1.ec709dc53c31dp-1, 0x1.2776c29380b5cp-1,
                              0x1.a61a2e91846fdp-2, 0x1.47955fd02f74ep-2, 0x1.21b059691b629p-2};
constexpr f64 sine_terms[] = {0x1.921fb54442b5fp+2, -0x1.4abbce6247ec4p+5, 0x1.466bc66dc7d8cp+6, -0x1.32d2c96c6115dp+6,
                              0x1.5076fe9f6292bp+5, -0x1.e297cfd3c5c2fp+3, 0x1.d4ec697696adap+1};
/// Bits of the square root of 1/2: numbers are split into a power of two and a rest from there on.
constexpr u64 root_half = 0x3fe6a09e667f3bcdULL;

/// Where the boundary between two floats matters: this far around it, in the last bits of a double.
constexpr u32 boundary_zone = 1U << 15U;
constexpr u32 below_float = 0x1fffffffU;  // of a double's bits, those that a float does not have
constexpr u32 before_boundary = 0x10000000U - boundary_zone / 2;

}  // namespace hipscope::HIPSCOPE_ISA
