// Operations of a matrix and vectors.
#pragma once

#include <vector>

#include "blas/call.hpp"
#include "blas/triangle.hpp"

namespace blas {

/// y = alpha * op(A) * x + beta * y for each of a batch. With beta 0 what y held is not looked at.
template <class T>
Outcome gemv(Handle* h, const char* name, int op, Index m, Index n, const T* alpha, Batch<const T> a, Index lda, Batch<const T> x, Index incx, const T* beta,
             Batch<T> y, Index incy, Index count = 1) {
    if (h == nullptr) return Outcome::no_handle;
    if (!is_operation(op)) return Outcome::bad_value;
    if (m < 0 || n < 0 || lda < std::max<Index>(m, 1) || incx == 0 || incy == 0 || count < 0) return Outcome::bad_size;
    if (m == 0 || n == 0 || count == 0) return Outcome::ok;
    if (alpha == nullptr || beta == nullptr || a.missing() || x.missing() || y.missing()) return Outcome::no_pointer;
    return later(h, name, [=, sa = Scalar<T>(h, alpha), sb = Scalar<T>(h, beta)](Operands& operands) {
        const auto factor = as<Sum<T>>(sa.get(operands, "alpha")), keep = as<Sum<T>>(sb.get(operands, "beta"));
        a.look(operands, "A", count);
        x.look(operands, "x", count);
        y.look(operands, "y", count);
        const bool plain = op == none;
        const Index from = plain ? n : m, to = plain ? m : n;
        for (Index b = 0; b < count && operands.fine(); ++b) {
            const Matrix<const T> matrix{a.at(b), m, n, lda};
            const Vector<const T> in{x.at(b), from, incx};
            const Vector<T> out{y.at(b), to, incy};
            out.writes(operands, "y");
            std::vector<Sum<T>> sums(static_cast<std::size_t>(to));
            if (!(factor == Sum<T>{})) {
                matrix.reads(operands, "A");
                in.reads(operands, "x");
                if (!operands.fine()) return;
                for (Index j = 0; j < n; ++j) {
                    const Sum<T> scaled = plain ? factor * as<Sum<T>>(in[j]) : Sum<T>{};
                    Sum<T> sum{};
                    for (Index i = 0; i < m; ++i) {
                        if (plain) sums[static_cast<std::size_t>(i)] += as<Sum<T>>(matrix(i, j)) * scaled;
                        else sum += as<Sum<T>>(op == transpose ? matrix(i, j) : conjugate(matrix(i, j))) * as<Sum<T>>(in[i]);
                    }
                    if (!plain) sums[static_cast<std::size_t>(j)] = factor * sum;
                }
            }
            if (!operands.fine()) return;
            for (Index i = 0; i < to; ++i) {
                Sum<T> value = sums[static_cast<std::size_t>(i)];
                if (!(keep == Sum<T>{})) value += keep * as<Sum<T>>(out[i]);
                out[i] = as<T>(value);
            }
        }
    });
}

/// A += alpha * x * y^T, or the conjugate of y.
template <bool conjugated, class T>
Outcome ger(Handle* h, const char* name, Index m, Index n, const T* alpha, const T* x, Index incx, const T* y, Index incy, T* a, Index lda) {
    if (h == nullptr) return Outcome::no_handle;
    if (m < 0 || n < 0 || lda < std::max<Index>(m, 1) || incx == 0 || incy == 0) return Outcome::bad_size;
    if (m == 0 || n == 0) return Outcome::ok;
    if (alpha == nullptr || x == nullptr || y == nullptr || a == nullptr) return Outcome::no_pointer;
    return later(h, name, [=, sa = Scalar<T>(h, alpha)](Operands& operands) {
        const T factor = sa.get(operands, "alpha");
        const Vector<const T> left{x, m, incx}, right{y, n, incy};
        const Matrix<T> matrix{a, m, n, lda};
        left.reads(operands, "x");
        right.reads(operands, "y");
        matrix.writes(operands, "A");
        if (!operands.fine()) return;
        for (Index j = 0; j < n; ++j) {
            const T scaled = factor * (conjugated ? conjugate(right[j]) : right[j]);
            for (Index i = 0; i < m; ++i) matrix(i, j) += left[i] * scaled;
        }
    });
}

/// y = alpha * A * x + beta * y, of A one triangle is given.
template <bool hermitian, class T>
Outcome symv(Handle* h, const char* name, int fill, Index n, const T* alpha, const T* a, Index lda, const T* x, Index incx, const T* beta, T* y, Index incy) {
    if (h == nullptr) return Outcome::no_handle;
    if (!is_fill(fill)) return Outcome::bad_value;
    if (n < 0 || lda < std::max<Index>(n, 1) || incx == 0 || incy == 0) return Outcome::bad_size;
    if (n == 0) return Outcome::ok;
    if (alpha == nullptr || beta == nullptr || a == nullptr || x == nullptr || y == nullptr) return Outcome::no_pointer;
    return later(h, name, [=, sa = Scalar<T>(h, alpha), sb = Scalar<T>(h, beta)](Operands& operands) {
        const T factor = sa.get(operands, "alpha"), keep = sb.get(operands, "beta");
        const Matrix<const T> matrix{a, n, n, lda};
        const Vector<const T> in{x, n, incx};
        const Vector<T> out{y, n, incy};
        reads_triangle(operands, matrix, fill, "A");
        in.reads(operands, "x");
        out.writes(operands, "y");
        if (!operands.fine()) return;
        std::vector<T> sums(static_cast<std::size_t>(n));
        for (Index j = 0; j < n; ++j)
            for (Index i = 0; i < n; ++i) sums[static_cast<std::size_t>(i)] += of_symmetric<hermitian>(matrix, fill, i, j) * in[j];
        for (Index i = 0; i < n; ++i) {
            T value = factor * sums[static_cast<std::size_t>(i)];
            if (!(keep == T{})) value += keep * out[i];
            out[i] = value;
        }
    });
}

/// A += alpha * x * x^T, or x^H: one triangle.
template <bool hermitian, class T, class S>
Outcome syr(Handle* h, const char* name, int fill, Index n, const S* alpha, const T* x, Index incx, T* a, Index lda) {
    if (h == nullptr) return Outcome::no_handle;
    if (!is_fill(fill)) return Outcome::bad_value;
    if (n < 0 || lda < std::max<Index>(n, 1) || incx == 0) return Outcome::bad_size;
    if (n == 0) return Outcome::ok;
    if (alpha == nullptr || x == nullptr || a == nullptr) return Outcome::no_pointer;
    return later(h, name, [=, sa = Scalar<S>(h, alpha)](Operands& operands) {
        const S factor = sa.get(operands, "alpha");
        const Vector<const T> v{x, n, incx};
        const Matrix<T> matrix{a, n, n, lda};
        v.reads(operands, "x");
        writes_triangle(operands, matrix, fill, "A");
        if (!operands.fine()) return;
        for_triangle(n, fill, [&](Index i, Index j) {
            matrix(i, j) += factor * (v[i] * (hermitian ? conjugate(v[j]) : v[j]));
            if constexpr (hermitian && is_complex<T>)
                if (i == j) matrix(i, j).im = 0;
        });
    });
}

/// A += alpha * x * y^T + alpha * y * x^T; Hermitian: with ^H and the conjugate of the second alpha. One triangle.
template <bool hermitian, class T>
Outcome syr2(Handle* h, const char* name, int fill, Index n, const T* alpha, const T* x, Index incx, const T* y, Index incy, T* a, Index lda) {
    if (h == nullptr) return Outcome::no_handle;
    if (!is_fill(fill)) return Outcome::bad_value;
    if (n < 0 || lda < std::max<Index>(n, 1) || incx == 0 || incy == 0) return Outcome::bad_size;
    if (n == 0) return Outcome::ok;
    if (alpha == nullptr || x == nullptr || y == nullptr || a == nullptr) return Outcome::no_pointer;
    return later(h, name, [=, sa = Scalar<T>(h, alpha)](Operands& operands) {
        const T factor = sa.get(operands, "alpha"), other = hermitian ? conjugate(factor) : factor;
        const Vector<const T> u{x, n, incx}, v{y, n, incy};
        const Matrix<T> matrix{a, n, n, lda};
        u.reads(operands, "x");
        v.reads(operands, "y");
        writes_triangle(operands, matrix, fill, "A");
        if (!operands.fine()) return;
        for_triangle(n, fill, [&](Index i, Index j) {
            matrix(i, j) += factor * u[i] * (hermitian ? conjugate(v[j]) : v[j]) + other * v[i] * (hermitian ? conjugate(u[j]) : u[j]);
            if constexpr (hermitian && is_complex<T>)
                if (i == j) matrix(i, j).im = 0;
        });
    });
}

/// x = op(A) * x, or x = op(A)^-1 * x, of a triangle.
template <bool solve, class T>
Outcome triangular(Handle* h, const char* name, int fill, int op, int diagonal, Index n, const T* a, Index lda, T* x, Index incx) {
    if (h == nullptr) return Outcome::no_handle;
    if (!is_fill(fill) || !is_operation(op)) return Outcome::bad_value;
    if (n < 0 || lda < std::max<Index>(n, 1) || incx == 0) return Outcome::bad_size;
    if (n == 0) return Outcome::ok;
    if (a == nullptr || x == nullptr) return Outcome::no_pointer;
    return later(h, name, [=](Operands& operands) {
        const Vector<T> v{x, n, incx};
        v.writes(operands, "x");
        reads_triangle(operands, Matrix<const T>{a, n, n, lda}, fill, "A");
        if (!operands.fine()) return;
        const Triangle<T> t(Matrix<const T>{a, n, n, lda}, fill, op, diagonal == unit);
        std::vector<T> values(static_cast<std::size_t>(n));
        for (Index i = 0; i < n; ++i) values[static_cast<std::size_t>(i)] = v[i];
        if constexpr (solve) t.solve(values);
        else values = t.times(values);
        for (Index i = 0; i < n; ++i) v[i] = values[static_cast<std::size_t>(i)];
    });
}

}  // namespace blas
