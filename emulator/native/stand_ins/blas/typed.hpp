// Products of matrices whose types are named by numbers: gemm_ex of both libraries.
#pragma once

#include "blas/level3.hpp"

namespace blas {

/// rocBLAS's numbers of types, which hipBLAS had, too, before it took HIP's.
enum Type { f16 = 150, f32 = 151, f64 = 152, c32 = 154, c64 = 155, i8 = 160, i32 = 162, bf16 = 168 };

/// A product of typed matrices; with strides of a batch or, `pointers`, with lists of matrices.
struct TypedProduct {
    int op_a, op_b;
    Index m, n, k;
    const void* alpha;
    const void* a;
    int a_type;
    Index lda, stride_a;
    const void* b;
    int b_type;
    Index ldb, stride_b;
    const void* beta;
    const void* c;
    int c_type;
    Index ldc, stride_c;
    void* d;
    int d_type;
    Index ldd, stride_d;
    int compute_type;  // of alpha, beta and sums
    Index count = 1;
    bool pointers = false;
};

template <class T>
Batch<T> typed(const void* start, Index stride, bool pointers) {
    if (pointers) return listed(static_cast<T* const*>(start));
    return strided(static_cast<T*>(const_cast<void*>(start)), stride);
}

template <class T, class R, class S>
Outcome typed_gemm(Handle* h, const char* name, const TypedProduct& p) {
    return gemm<T, R, S>(h, name, p.op_a, p.op_b, p.m, p.n, p.k,
                         {typed<const T>(p.a, p.stride_a, p.pointers), p.lda, typed<const T>(p.b, p.stride_b, p.pointers), p.ldb,
                          static_cast<const S*>(p.alpha), static_cast<const S*>(p.beta)},
                         {typed<const R>(p.c, p.stride_c, p.pointers), p.ldc, typed<R>(p.d, p.stride_d, p.pointers), p.ldd}, p.count);
}

inline Outcome typed_gemm(Handle* h, const char* name, const TypedProduct& p) {
    if (p.a_type != p.b_type || p.c_type != p.d_type) return Outcome::not_supported;
    const auto are = [&p](int in, int out, int compute) { return p.a_type == in && p.c_type == out && p.compute_type == compute; };
    if (are(f32, f32, f32)) return typed_gemm<float, float, float>(h, name, p);
    if (are(f64, f64, f64)) return typed_gemm<double, double, double>(h, name, p);
    if (are(c32, c32, c32)) return typed_gemm<ComplexFloat, ComplexFloat, ComplexFloat>(h, name, p);
    if (are(c64, c64, c64)) return typed_gemm<ComplexDouble, ComplexDouble, ComplexDouble>(h, name, p);
    if (are(f16, f16, f16)) return typed_gemm<Half, Half, Half>(h, name, p);
    if (are(f16, f16, f32)) return typed_gemm<Half, Half, float>(h, name, p);
    if (are(f16, f32, f32)) return typed_gemm<Half, float, float>(h, name, p);
    if (are(bf16, bf16, f32)) return typed_gemm<Bfloat16, Bfloat16, float>(h, name, p);
    if (are(bf16, f32, f32)) return typed_gemm<Bfloat16, float, float>(h, name, p);
    if (are(i8, i32, i32)) return typed_gemm<std::int8_t, std::int32_t, std::int32_t>(h, name, p);
    if (are(i8, f32, f32)) return typed_gemm<std::int8_t, float, float>(h, name, p);
    return Outcome::not_supported;
}

}  // namespace blas
