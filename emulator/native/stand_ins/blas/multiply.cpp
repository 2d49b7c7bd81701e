// The innermost loops, once for each level of the processor's vectors.
#include "blas/multiply.hpp"

#if defined(__x86_64__) && defined(__GNUC__) && !defined(__clang__)
#define FOR_EACH_LEVEL __attribute__((target_clones("default", "arch=haswell", "arch=skylake-avx512")))
#else
#define FOR_EACH_LEVEL
#endif

namespace blas {
namespace {

/// `count` numbers that are computed with at once; the compiler makes of them what vectors the processor has.
template <class T, std::ptrdiff_t count>
using Lanes [[gnu::vector_size(count * sizeof(T)), gnu::aligned(alignof(T)), gnu::may_alias]] = T;

template <class T>
[[gnu::always_inline]] inline void add_steps(std::ptrdiff_t depth, const T* a, const T* b, T* tile, std::ptrdiff_t pitch) {
    using Rows = Lanes<T, kRows>;
    Rows sums[kColumns];
    for (std::ptrdiff_t c = 0; c < kColumns; ++c) sums[c] = *reinterpret_cast<const Rows*>(tile + c * pitch);
    for (std::ptrdiff_t p = 0; p < depth; ++p) {
        const Rows rows = *reinterpret_cast<const Rows*>(a + p * kRows);
#pragma GCC unroll 4
        for (std::ptrdiff_t c = 0; c < kColumns; ++c) sums[c] += rows * b[p * kColumns + c];
    }
    for (std::ptrdiff_t c = 0; c < kColumns; ++c) *reinterpret_cast<Rows*>(tile + c * pitch) = sums[c];
}

/// Of complex numbers the products with the real and with the imaginary part of the right side are summed apart.
template <class T>
[[gnu::always_inline]] inline void add_steps(std::ptrdiff_t depth, const Complex<T>* a, const Complex<T>* b, Complex<T>* tile, std::ptrdiff_t pitch) {
    constexpr std::ptrdiff_t some = kRows / 2;
    using Rows = Lanes<T, 2 * some>;
    for (std::ptrdiff_t c = 0; c < kColumns; ++c)
        for (std::ptrdiff_t r = 0; r < kRows; r += some) {
            Rows by_real{}, by_imaginary{};
            for (std::ptrdiff_t p = 0; p < depth; ++p) {
                const Rows rows = *reinterpret_cast<const Rows*>(a + p * kRows + r);
                by_real += rows * b[p * kColumns + c].re;
                by_imaginary += rows * b[p * kColumns + c].im;
            }
            for (std::ptrdiff_t i = 0; i < some; ++i)
                tile[c * pitch + r + i] += Complex<T>{by_real[2 * i] - by_imaginary[2 * i + 1], by_real[2 * i + 1] + by_imaginary[2 * i]};
        }
}

}  // namespace

#define MULTIPLY_ADD(T)                                                                                             \
    FOR_EACH_LEVEL void multiply_add(std::ptrdiff_t depth, const T* a, const T* b, T* tile, std::ptrdiff_t pitch) { \
        add_steps(depth, a, b, tile, pitch);                                                                        \
    }
MULTIPLY_ADD(float)
MULTIPLY_ADD(double)
MULTIPLY_ADD(ComplexFloat)
MULTIPLY_ADD(ComplexDouble)

/// Wraps around, as the device's sums do.
FOR_EACH_LEVEL void multiply_add(std::ptrdiff_t depth, const std::int32_t* a, const std::int32_t* b, std::int32_t* tile, std::ptrdiff_t pitch) {
    for (std::ptrdiff_t c = 0; c < kColumns; ++c)
        for (std::ptrdiff_t p = 0; p < depth; ++p)
            for (std::ptrdiff_t r = 0; r < kRows; ++r) {
                const auto product = static_cast<std::uint32_t>(a[p * kRows + r]) * static_cast<std::uint32_t>(b[p * kColumns + c]);
                tile[c * pitch + r] = static_cast<std::int32_t>(static_cast<std::uint32_t>(tile[c * pitch + r]) + product);
            }
}

}  // namespace blas
