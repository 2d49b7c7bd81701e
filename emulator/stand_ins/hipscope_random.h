// Generators of random numbers and their distributions, by the published algorithms, in kernels and on the host.
//
// XORWOW: Marsaglia, Xorshift RNGs (2003); Philox4x32-10: Salmon et al., Parallel random numbers (2011); MRG32k3a: L'Ecuyer, Good
// parameters (1999). Seeding and the distance between subsequences (2^67, Philox 2^66) are as rocRAND documents them.
#pragma once

#ifdef __HIPCC__
#define HIPSCOPE_RANDOM __device__ __host__ inline
#else
#define HIPSCOPE_RANDOM inline
#endif

#ifndef __HIP_DEVICE_COMPILE__
#include <cmath>
#endif

namespace hipscope_random {

typedef unsigned int u32;
typedef unsigned long long u64;

// ---- XORWOW ----

/// Remainders of powers of x by the polynomial of the generator's 160 bits: what a jump is computed with.
struct XorwowPowers {
    u32 step[64][5];      // x^(2^i)
    u32 sequence[64][5];  // x^(2^(67 + i))
};

constexpr u32 kXorwowPolynomial[5] = {0x00060001U, 0x08610030U, 0x00062121U, 0x0f3c0035U, 0x00000f0eU};

constexpr void xorwow_square(u32 (&p)[5]) {
    u32 wide[10] = {};
    for (int i = 0; i < 160; ++i)
        if (p[i / 32] >> (i % 32) & 1U) wide[2 * i / 32] |= 1U << (2 * i % 32);
    for (int i = 319; i >= 160; --i) {
        if ((wide[i / 32] >> (i % 32) & 1U) == 0) continue;
        const int from = i - 160, word = from / 32, bit = from % 32;
        for (int k = 0; k < 5; ++k) {
            wide[word + k] ^= kXorwowPolynomial[k] << bit;
            if (bit != 0) wide[word + k + 1] ^= kXorwowPolynomial[k] >> (32 - bit);
        }
        wide[i / 32] &= ~(1U << (i % 32));
    }
    for (int k = 0; k < 5; ++k) p[k] = wide[k];
}

constexpr XorwowPowers xorwow_powers() {
    XorwowPowers result{};
    u32 p[5] = {2, 0, 0, 0, 0};
    for (int i = 0; i < 131; ++i) {
        for (int k = 0; k < 5; ++k) {
            if (i < 64) result.step[i][k] = p[k];
            if (i >= 67) result.sequence[i - 67][k] = p[k];
        }
        xorwow_square(p);
    }
    return result;
}

// ---- MRG32k3a ----

constexpr u64 kM1 = 4294967087ULL, kM2 = 4294944443ULL;
struct MrgMatrix {
    u64 a[9];
};
/// Powers of the two matrices of the recurrence.
struct MrgPowers {
    MrgMatrix step1[64], step2[64], sequence1[64], sequence2[64];  // as of XorwowPowers
};

constexpr MrgMatrix mrg_square(const MrgMatrix& m, u64 modulus) {
    MrgMatrix result{};
    for (int i = 0; i < 3; ++i)
        for (int j = 0; j < 3; ++j) {
            u64 sum = 0;
            for (int k = 0; k < 3; ++k) sum = (sum + m.a[3 * i + k] * m.a[3 * k + j] % modulus) % modulus;
            result.a[3 * i + j] = sum;
        }
    return result;
}

constexpr MrgPowers mrg_powers() {
    MrgPowers result{};
    MrgMatrix one{{0, 1, 0, 0, 0, 1, kM1 - 810728, 1403580, 0}}, two{{0, 1, 0, 0, 0, 1, kM2 - 1370589, 0, 527612}};
    for (int i = 0; i < 131; ++i) {
        if (i < 64) {
            result.step1[i] = one;
            result.step2[i] = two;
        }
        if (i >= 67) {
            result.sequence1[i - 67] = one;
            result.sequence2[i - 67] = two;
        }
        one = mrg_square(one, kM1);
        two = mrg_square(two, kM2);
    }
    return result;
}

#ifdef __HIP_DEVICE_COMPILE__
static __device__ constexpr XorwowPowers kXorwowPowers = xorwow_powers();
static __device__ constexpr MrgPowers kMrgPowers = mrg_powers();
#else
static constexpr XorwowPowers kXorwowPowers = xorwow_powers();
static constexpr MrgPowers kMrgPowers = mrg_powers();
#endif

/// The second of two normal numbers that are made together, kept for the next call.
struct KeptNormal {
    u32 has_float, has_double;
    float a_float;
    double a_double;
};

struct Xorwow {
    u32 d, x[5];
    KeptNormal kept;

    HIPSCOPE_RANDOM void seed(u64 seed, u64 subsequence, u64 offset) {
        const u32 t0 = 1228688033U * (static_cast<u32>(seed) ^ 0x2c7f967fU), t1 = 2073658381U * (static_cast<u32>(seed >> 32) ^ 0xa03697cbU);
        x[0] = 123456789U + t0;
        x[1] = 362436069U ^ t0;
        x[2] = 521288629U + t1;
        x[3] = 88675123U ^ t1;
        x[4] = 5783321U + t0;
        d = 6615241U + t1 + t0;
        kept = {};
        skip_sequences(subsequence);
        skip(offset);
    }
    HIPSCOPE_RANDOM u32 next() {
        step(x);
        d += 362437U;
        return d + x[4];
    }
    HIPSCOPE_RANDOM void skip(u64 count) {
        jump(count, kXorwowPowers.step);
        d += 362437U * static_cast<u32>(count);
    }
    /// 2^67 numbers each: the count in `d` is the same after them.
    HIPSCOPE_RANDOM void skip_sequences(u64 count) { jump(count, kXorwowPowers.sequence); }

private:
    HIPSCOPE_RANDOM static void step(u32 (&v)[5]) {
        const u32 t = v[0] ^ (v[0] >> 2);
        v[0] = v[1];
        v[1] = v[2];
        v[2] = v[3];
        v[3] = v[4];
        v[4] = (v[4] ^ (v[4] << 4)) ^ (t ^ (t << 1));
    }
    HIPSCOPE_RANDOM void jump(u64 count, const u32 (&powers)[64][5]) {
        for (int i = 0; count != 0; ++i, count >>= 1) {
            if ((count & 1U) == 0) continue;
            u32 sum[5] = {0, 0, 0, 0, 0};
            for (int word = 0; word < 5; ++word) {
                const u32 bits = powers[i][word];
                for (int bit = 0; bit < 32; ++bit) {
                    const u32 mask = 0U - (bits >> bit & 1U);
                    for (int k = 0; k < 5; ++k) sum[k] ^= x[k] & mask;
                    step(x);
                }
            }
            for (int k = 0; k < 5; ++k) x[k] = sum[k];
        }
    }
};

struct Philox {
    u32 counter[4], result[4], key[2], place;
    KeptNormal kept;

    HIPSCOPE_RANDOM void seed(u64 seed, u64 subsequence, u64 offset) {
        key[0] = static_cast<u32>(seed);
        key[1] = static_cast<u32>(seed >> 32);
        counter[0] = counter[1] = counter[2] = counter[3] = 0;
        place = 0;
        kept = {};
        skip_sequences(subsequence);
        skip(offset);
    }
    HIPSCOPE_RANDOM u32 next() {
        const u32 value = result[place];
        if (++place == 4) {
            place = 0;
            count_up(1);
            compute();
        }
        return value;
    }
    HIPSCOPE_RANDOM void skip(u64 count) {
        const u64 at = place + (count & 3U);
        place = static_cast<u32>(at & 3U);
        count_up(count / 4 + at / 4);
        compute();
    }
    HIPSCOPE_RANDOM void skip_sequences(u64 count) {
        const u64 high = (static_cast<u64>(counter[3]) << 32 | counter[2]) + count;
        counter[2] = static_cast<u32>(high);
        counter[3] = static_cast<u32>(high >> 32);
        compute();
    }

private:
    HIPSCOPE_RANDOM void count_up(u64 by) {
        const u64 low = static_cast<u64>(counter[1]) << 32 | counter[0], sum = low + by;
        counter[0] = static_cast<u32>(sum);
        counter[1] = static_cast<u32>(sum >> 32);
        if (sum < low && ++counter[2] == 0) ++counter[3];
    }
    HIPSCOPE_RANDOM void compute() {
        u32 c[4] = {counter[0], counter[1], counter[2], counter[3]}, k0 = key[0], k1 = key[1];
        for (int round = 0; round < 10; ++round) {
            const u64 a = static_cast<u64>(c[0]) * 0xD2511F53U, b = static_cast<u64>(c[2]) * 0xCD9E8D57U;
            const u32 c1 = c[1], c3 = c[3];
            c[0] = static_cast<u32>(b >> 32) ^ c1 ^ k0;
            c[1] = static_cast<u32>(b);
            c[2] = static_cast<u32>(a >> 32) ^ c3 ^ k1;
            c[3] = static_cast<u32>(a);
            k0 += 0x9E3779B9U;
            k1 += 0xBB67AE85U;
        }
        for (int i = 0; i < 4; ++i) result[i] = c[i];
    }
};

struct Mrg {
    u32 g1[3], g2[3];
    KeptNormal kept;

    HIPSCOPE_RANDOM void seed(u64 seed, u64 subsequence, u64 offset) {
        if (seed == 0) seed = 12345;
        const u64 x = static_cast<u32>(seed) ^ 0x55555555U, y = static_cast<u32>(seed >> 32) ^ 0xAAAAAAAAU;
        for (int i = 0; i < 3; ++i) {
            g1[i] = times(i == 1 ? y : x, seed, kM1);
            g2[i] = times(i == 1 ? x : y, seed, kM2);
        }
        kept = {};
        skip_sequences(subsequence);
        skip(offset);
    }
    /// From 1 to kM1.
    HIPSCOPE_RANDOM u32 draw() {
        const u64 p1 = (1403580ULL * g1[1] + 810728ULL * (kM1 - g1[0])) % kM1;
        g1[0] = g1[1];
        g1[1] = g1[2];
        g1[2] = static_cast<u32>(p1);
        const u64 p2 = (527612ULL * g2[2] + 1370589ULL * (kM2 - g2[0])) % kM2;
        g2[0] = g2[1];
        g2[1] = g2[2];
        g2[2] = static_cast<u32>(p2);
        return static_cast<u32>(p1 > p2 ? p1 - p2 : p1 + kM1 - p2);
    }
    HIPSCOPE_RANDOM u32 next() { return static_cast<u32>((draw() - 1) * 1.000000048661607); }
    HIPSCOPE_RANDOM void skip(u64 count) { jump(count, kMrgPowers.step1, kMrgPowers.step2); }
    HIPSCOPE_RANDOM void skip_sequences(u64 count) { jump(count, kMrgPowers.sequence1, kMrgPowers.sequence2); }

private:
    HIPSCOPE_RANDOM static u32 times(u64 a, u64 b, u64 modulus) { return static_cast<u32>((a % modulus) * (b % modulus) % modulus); }
    HIPSCOPE_RANDOM static void apply(const MrgMatrix& m, u32 (&v)[3], u64 modulus) {
        u64 sums[3];
        for (int i = 0; i < 3; ++i) {
            sums[i] = 0;
            for (int k = 0; k < 3; ++k) sums[i] = (sums[i] + m.a[3 * i + k] * v[k] % modulus) % modulus;
        }
        for (int i = 0; i < 3; ++i) v[i] = static_cast<u32>(sums[i]);
    }
    HIPSCOPE_RANDOM void jump(u64 count, const MrgMatrix (&one)[64], const MrgMatrix (&two)[64]) {
        for (int i = 0; count != 0; ++i, count >>= 1)
            if (count & 1U) {
                apply(one[i], g1, kM1);
                apply(two[i], g2, kM2);
            }
    }
};

// ---- distributions ----

constexpr float kInverse32 = 2.3283064e-10F;
constexpr double kInverse32Double = 2.3283064365386963e-10, kInverse53 = 1.1102230246251565e-16, kPi = 3.1415926535897932;

/// Above 0 and up to 1.
template <class State>
HIPSCOPE_RANDOM float uniform(State& s) { return kInverse32 + static_cast<float>(s.next()) * kInverse32; }
HIPSCOPE_RANDOM float uniform(Mrg& s) { return static_cast<float>(s.draw() * 2.3283065498378288e-10); }

template <class State>
HIPSCOPE_RANDOM double uniform_double(State& s) {
    const u64 low = s.next(), high = s.next() >> 11;
    return kInverse53 + static_cast<double>(high << 32 | low) * kInverse53;
}
HIPSCOPE_RANDOM double uniform_double(Mrg& s) { return s.draw() * 2.3283065498378288e-10; }

/// Two independent normal numbers (Box and Muller) of a uniform one and an angle as a part of the circle.
HIPSCOPE_RANDOM void two_normals(float u, float angle, float& first, float& second) {
    const float size = sqrtf(-2.0F * logf(u));
#ifdef __HIP_DEVICE_COMPILE__
    __sincosf(angle, &first, &second);
    first *= size;
    second *= size;
#else
    first = sinf(angle) * size;
    second = cosf(angle) * size;
#endif
}
HIPSCOPE_RANDOM void two_normals(double u, double halves, double& first, double& second) {
    const double size = sqrt(-2.0 * log(u));
#ifdef __HIP_DEVICE_COMPILE__
    sincospi(halves, &first, &second);
    first *= size;
    second *= size;
#else
    first = sin(halves * kPi) * size;
    second = cos(halves * kPi) * size;
#endif
}

template <class State>
HIPSCOPE_RANDOM void normal2(State& s, float& first, float& second) {
    constexpr float turn = 1.46291807e-09F;  // 2 pi / 2^32
    const u32 x = s.next(), y = s.next();
    two_normals(kInverse32 + static_cast<float>(x) * kInverse32, turn + static_cast<float>(y) * turn, first, second);
}
HIPSCOPE_RANDOM void normal2(Mrg& s, float& first, float& second) {
    const float u = uniform(s), v = uniform(s);
    two_normals(u, v * 6.2831855F, first, second);
}
template <class State>
HIPSCOPE_RANDOM void normal2(State& s, double& first, double& second) {
    const u64 a = s.next(), b = s.next(), c = s.next(), d = s.next();
    const double u = kInverse53 + static_cast<double>(a ^ b << 21) * kInverse53;
    const double w = 2 * kInverse53 + static_cast<double>(c ^ d << 21) * (2 * kInverse53);
    two_normals(u, w, first, second);
}
HIPSCOPE_RANDOM void normal2(Mrg& s, double& first, double& second) {
    const double u = uniform(s), v = uniform(s) * 2.0;
    two_normals(u, v, first, second);
}

template <class State>
HIPSCOPE_RANDOM float normal(State& s) {
    if (s.kept.has_float) {
        s.kept.has_float = 0;
        return s.kept.a_float;
    }
    float first = 0;
    normal2(s, first, s.kept.a_float);
    s.kept.has_float = 1;
    return first;
}
template <class State>
HIPSCOPE_RANDOM double normal_double(State& s) {
    if (s.kept.has_double) {
        s.kept.has_double = 0;
        return s.kept.a_double;
    }
    double first = 0;
    normal2(s, first, s.kept.a_double);
    s.kept.has_double = 1;
    return first;
}

/// Products of uniform numbers for small means (Knuth), the transformed rejection of Hoermann for large ones.
template <class State>
HIPSCOPE_RANDOM u32 poisson(State& s, double mean) {
    if (!(mean > 0)) return 0;
    if (mean < 30) {
        const double least = exp(-mean);
        u32 count = 0;
        for (double product = uniform_double(s); product > least; product *= uniform_double(s)) ++count;
        return count;
    }
    const double root = sqrt(mean), b = 0.931 + 2.53 * root, a = -0.059 + 0.02483 * b, inverse = 1.1239 + 1.1328 / (b - 3.4), bound = 0.9277 - 3.6224 / (b - 2);
    for (;;) {
        const double u = uniform_double(s) - 0.5, v = uniform_double(s), us = 0.5 - fabs(u);
        const double k = floor((2 * a / us + b) * u + mean + 0.43);
        if (us >= 0.07 && v <= bound) return static_cast<u32>(k);
        if (k < 0 || (us < 0.013 && v > us)) continue;
        if (log(v) + log(inverse) - log(a / (us * us) + b) <= -mean + k * log(mean) - lgamma(k + 1)) return static_cast<u32>(k);
    }
}

}  // namespace hipscope_random
