// Operations on matrices.
#pragma once

#include <vector>

#include "blas/call.hpp"
#include "blas/multiply.hpp"
#include "blas/triangle.hpp"

namespace blas {

/// op(A)(i, p), as what products are summed in.
template <class S, class T>
S element(const Matrix<const T>& a, int op, Index i, Index p) {
    if (op == none) return as<S>(a(i, p));
    return op == transpose ? as<S>(a(p, i)) : as<S>(conjugate(a(p, i)));
}

/// The matrix of which op is taken, for an op(A) of these sizes.
template <class T>
Matrix<const T> under(const T* start, int op, Index rows, Index columns, Index distance) {
    return op == none ? Matrix<const T>{start, rows, columns, distance} : Matrix<const T>{start, columns, rows, distance};
}

template <class T, class S>
struct GemmOperands {
    Batch<const T> a;
    Index lda;
    Batch<const T> b;
    Index ldb;
    const S* alpha;
    const S* beta;
};
template <class T>
struct GemmResult {
    Batch<const T> c;
    Index ldc;
    Batch<T> d;
    Index ldd;
};

/// D = alpha * op(A) * op(B) + beta * C for each of a batch. With beta 0 what C holds is not looked at, with alpha 0 not A and B.
template <class T, class R, class S>
Outcome gemm(Handle* h, const char* name, int op_a, int op_b, Index m, Index n, Index k, GemmOperands<T, S> in, GemmResult<R> out, Index count = 1) {
    if (h == nullptr) return Outcome::no_handle;
    if (!is_operation(op_a) || !is_operation(op_b)) return Outcome::bad_value;
    if (m < 0 || n < 0 || k < 0 || count < 0) return Outcome::bad_size;
    if (in.lda < std::max<Index>(op_a == none ? m : k, 1) || in.ldb < std::max<Index>(op_b == none ? k : n, 1) || out.ldc < std::max<Index>(m, 1) ||
        out.ldd < std::max<Index>(m, 1))
        return Outcome::bad_size;
    if (m == 0 || n == 0 || count == 0) return Outcome::ok;
    if (in.alpha == nullptr || in.beta == nullptr || out.d.missing() || (k > 0 && (in.a.missing() || in.b.missing()))) return Outcome::no_pointer;
    using Add = Sum<S>;
    return later(h, name, [=, sa = Scalar<S>(h, in.alpha), sb = Scalar<S>(h, in.beta)](Operands& operands) {
        const auto alpha = as<Add>(sa.get(operands, "alpha")), beta = as<Add>(sb.get(operands, "beta"));
        const bool product = !(alpha == Add{}) && k > 0, adds = !(beta == Add{});
        if (product) {
            in.a.look(operands, "A", count);
            in.b.look(operands, "B", count);
        }
        if (adds) out.c.look(operands, "C", count);
        out.d.look(operands, "C", count);
        for (Index i = 0; i < count && operands.fine(); ++i) {
            const Matrix<const T> a = under(product ? in.a.at(i) : nullptr, op_a, m, k, in.lda), b = under(product ? in.b.at(i) : nullptr, op_b, k, n, in.ldb);
            const Matrix<const R> c{adds ? out.c.at(i) : nullptr, m, n, out.ldc};
            const Matrix<R> d{out.d.at(i), m, n, out.ldd};
            if (product) {
                a.reads(operands, "A");
                b.reads(operands, "B");
            }
            if (adds) c.reads(operands, "C");
            d.writes(operands, "C");
            if (!operands.fine()) return;
            multiply<Add>(
                m, n, product ? k : 0, [&](Index row, Index p) { return element<Add>(a, op_a, row, p); },
                [&](Index p, Index column) { return element<Add>(b, op_b, p, column); },
                [&](Index row, Index column, Add sum) {
                    Add value = alpha * sum;
                    if (adds) value += beta * as<Add>(c(row, column));
                    d(row, column) = as<R>(value);
                });
        }
    });
}

/// C = alpha * A * B + beta * C with a symmetric or Hermitian A, or B * A.
template <bool hermitian, class T>
Outcome symm(Handle* h, const char* name, int side, int fill, Index m, Index n, const T* alpha, const T* a, Index lda, const T* b, Index ldb, const T* beta,
             T* c, Index ldc) {
    if (h == nullptr) return Outcome::no_handle;
    if (!is_fill(fill) || (side != left_side && side != right_side)) return Outcome::bad_value;
    const Index order = side == left_side ? m : n;
    if (m < 0 || n < 0 || lda < std::max<Index>(order, 1) || ldb < std::max<Index>(m, 1) || ldc < std::max<Index>(m, 1)) return Outcome::bad_size;
    if (m == 0 || n == 0) return Outcome::ok;
    if (alpha == nullptr || beta == nullptr || a == nullptr || b == nullptr || c == nullptr) return Outcome::no_pointer;
    return later(h, name, [=, sa = Scalar<T>(h, alpha), sb = Scalar<T>(h, beta)](Operands& operands) {
        const T factor = sa.get(operands, "alpha"), keep = sb.get(operands, "beta");
        const Matrix<const T> s{a, order, order, lda}, g{b, m, n, ldb};
        const Matrix<T> to{c, m, n, ldc};
        reads_triangle(operands, s, fill, "A");
        g.reads(operands, "B");
        to.writes(operands, "C");
        if (!operands.fine()) return;
        const auto store = [&](Index i, Index j, T sum) { to(i, j) = keep == T{} ? factor * sum : factor * sum + keep * to(i, j); };
        const auto of_a = [&](Index i, Index j) { return of_symmetric<hermitian>(s, fill, i, j); };
        if (side == left_side) multiply<T>(m, n, m, of_a, g, store);
        else multiply<T>(m, n, n, g, of_a, store);
    });
}

/// C = alpha * op(A) * op(A)^T + beta * C, or ^H: one triangle.
template <bool hermitian, class T, class S>
Outcome syrk(Handle* h, const char* name, int fill, int op, Index n, Index k, const S* alpha, const T* a, Index lda, const S* beta, T* c, Index ldc) {
    if (h == nullptr) return Outcome::no_handle;
    if (!is_fill(fill) || !is_operation(op)) return Outcome::bad_value;
    if (n < 0 || k < 0 || lda < std::max<Index>(op == none ? n : k, 1) || ldc < std::max<Index>(n, 1)) return Outcome::bad_size;
    if (n == 0) return Outcome::ok;
    if (alpha == nullptr || beta == nullptr || (k > 0 && a == nullptr) || c == nullptr) return Outcome::no_pointer;
    return later(h, name, [=, sa = Scalar<S>(h, alpha), sb = Scalar<S>(h, beta)](Operands& operands) {
        const S factor = sa.get(operands, "alpha"), keep = sb.get(operands, "beta");
        const bool product = !(factor == S{}) && k > 0;
        const Matrix<const T> from = under(a, op, n, k, lda);
        const Matrix<T> to{c, n, n, ldc};
        if (product) from.reads(operands, "A");
        writes_triangle(operands, to, fill, "C");
        if (!operands.fine()) return;
        multiply<T>(
            n, n, product ? k : 0, [&](Index i, Index p) { return element<T>(from, op, i, p); },
            [&](Index p, Index j) {
                const T value = element<T>(from, op, j, p);
                return hermitian ? conjugate(value) : value;
            },
            [&](Index i, Index j, T sum) {
                if (!in_triangle(fill, i, j)) return;
                T value = factor * sum;
                if (!(keep == S{})) value += keep * to(i, j);
                if constexpr (hermitian && is_complex<T>)
                    if (i == j) value.im = 0;
                to(i, j) = value;
            });
    });
}

/// C = alpha * op(A) * op(B)^T + alpha * op(B) * op(A)^T + beta * C; Hermitian: with ^H and the conjugate of the second alpha.
template <bool hermitian, class T, class S>
Outcome syr2k(Handle* h, const char* name, int fill, int op, Index n, Index k, const T* alpha, const T* a, Index lda, const T* b, Index ldb, const S* beta, T* c,
              Index ldc) {
    if (h == nullptr) return Outcome::no_handle;
    if (!is_fill(fill) || !is_operation(op)) return Outcome::bad_value;
    const Index least = std::max<Index>(op == none ? n : k, 1);
    if (n < 0 || k < 0 || lda < least || ldb < least || ldc < std::max<Index>(n, 1)) return Outcome::bad_size;
    if (n == 0) return Outcome::ok;
    if (alpha == nullptr || beta == nullptr || (k > 0 && (a == nullptr || b == nullptr)) || c == nullptr) return Outcome::no_pointer;
    return later(h, name, [=, sa = Scalar<T>(h, alpha), sb = Scalar<S>(h, beta)](Operands& operands) {
        const T factor = sa.get(operands, "alpha");
        const S keep = sb.get(operands, "beta");
        const bool product = !(factor == T{}) && k > 0;
        const Matrix<const T> first = under(a, op, n, k, lda), second = under(b, op, n, k, ldb);
        const Matrix<T> to{c, n, n, ldc};
        if (product) {
            first.reads(operands, "A");
            second.reads(operands, "B");
        }
        writes_triangle(operands, to, fill, "C");
        if (!operands.fine()) return;
        multiply<T>(
            n, n, product ? 2 * k : 0,
            [&](Index i, Index p) {
                if (p < k) return factor * element<T>(first, op, i, p);
                return (hermitian ? conjugate(factor) : factor) * element<T>(second, op, i, p - k);
            },
            [&](Index p, Index j) {
                const T value = p < k ? element<T>(second, op, j, p) : element<T>(first, op, j, p - k);
                return hermitian ? conjugate(value) : value;
            },
            [&](Index i, Index j, T sum) {
                if (!in_triangle(fill, i, j)) return;
                if (!(keep == S{})) sum += keep * to(i, j);
                if constexpr (hermitian && is_complex<T>)
                    if (i == j) sum.im = 0;
                to(i, j) = sum;
            });
    });
}

/// X with op(A) * X = alpha * B, or X * op(A) = alpha * B, in the place of B, for each of a batch.
template <class T>
Outcome trsm(Handle* h, const char* name, int side, int fill, int op, int diagonal, Index m, Index n, const T* alpha, Batch<const T> a, Index lda, Batch<T> b,
             Index ldb, Index count = 1) {
    if (h == nullptr) return Outcome::no_handle;
    if (!is_fill(fill) || !is_operation(op) || (side != left_side && side != right_side)) return Outcome::bad_value;
    const bool left = side == left_side;
    const Index order = left ? m : n, others = left ? n : m;
    if (m < 0 || n < 0 || count < 0 || lda < std::max<Index>(order, 1) || ldb < std::max<Index>(m, 1)) return Outcome::bad_size;
    if (m == 0 || n == 0 || count == 0) return Outcome::ok;
    if (alpha == nullptr || a.missing() || b.missing()) return Outcome::no_pointer;
    return later(h, name, [=, sa = Scalar<T>(h, alpha)](Operands& operands) {
        const T factor = sa.get(operands, "alpha");
        a.look(operands, "A", count);
        b.look(operands, "B", count);
        for (Index i = 0; i < count && operands.fine(); ++i) {
            const Matrix<T> x{b.at(i), m, n, ldb};
            x.writes(operands, "B");
            if (factor == T{}) {
                for (Index column = 0; column < n && operands.fine(); ++column)
                    for (Index row = 0; row < m; ++row) x(row, column) = T{};
                continue;
            }
            const Matrix<const T> given{a.at(i), order, order, lda};
            reads_triangle(operands, given, fill, "A");
            if (!operands.fine()) return;
            const Triangle<T> t(given, fill, op, diagonal == unit, !left);
            const double work = static_cast<double>(order) * static_cast<double>(order) / 2 * static_cast<double>(others);
            in_parts(others, work, [&](Index line) {
                std::vector<T> values(static_cast<std::size_t>(order));
                for (Index p = 0; p < order; ++p) values[static_cast<std::size_t>(p)] = factor * (left ? x(p, line) : x(line, p));
                t.solve(values);
                for (Index p = 0; p < order; ++p) (left ? x(p, line) : x(line, p)) = values[static_cast<std::size_t>(p)];
            });
        }
    });
}

/// C = alpha * op(A) * B, or alpha * B * op(A), of a triangular A; C may be B.
template <class T>
Outcome trmm(Handle* h, const char* name, int side, int fill, int op, int diagonal, Index m, Index n, const T* alpha, const T* a, Index lda, const T* b,
             Index ldb, T* c, Index ldc) {
    if (h == nullptr) return Outcome::no_handle;
    if (!is_fill(fill) || !is_operation(op) || (side != left_side && side != right_side)) return Outcome::bad_value;
    const bool left = side == left_side;
    const Index order = left ? m : n;
    if (m < 0 || n < 0 || lda < std::max<Index>(order, 1) || ldb < std::max<Index>(m, 1) || ldc < std::max<Index>(m, 1)) return Outcome::bad_size;
    if (m == 0 || n == 0) return Outcome::ok;
    if (alpha == nullptr || a == nullptr || b == nullptr || c == nullptr) return Outcome::no_pointer;
    return later(h, name, [=, sa = Scalar<T>(h, alpha)](Operands& operands) {
        const T factor = sa.get(operands, "alpha");
        const Matrix<const T> given{a, order, order, lda}, from{b, m, n, ldb};
        const Matrix<T> to{c, m, n, ldc};
        reads_triangle(operands, given, fill, "A");
        from.reads(operands, "B");
        to.writes(operands, "C");
        if (!operands.fine()) return;
        const Triangle<T> t(given, fill, op, diagonal == unit);
        std::vector<T> kept(static_cast<std::size_t>(m * n));
        const Matrix<T> copy{kept.data(), m, n, m};
        for (Index j = 0; j < n; ++j)
            for (Index i = 0; i < m; ++i) copy(i, j) = from(i, j);
        const auto store = [&](Index i, Index j, T sum) { to(i, j) = factor * sum; };
        if (left) multiply<T>(m, n, m, t, copy, store);
        else multiply<T>(m, n, n, copy, t, store);
    });
}

/// C = alpha * op(A) + beta * op(B); C may be A or B where their op is none.
template <class T>
Outcome geam(Handle* h, const char* name, int op_a, int op_b, Index m, Index n, const T* alpha, const T* a, Index lda, const T* beta, const T* b, Index ldb, T* c,
             Index ldc) {
    if (h == nullptr) return Outcome::no_handle;
    if (!is_operation(op_a) || !is_operation(op_b)) return Outcome::bad_value;
    if (m < 0 || n < 0 || ldc < std::max<Index>(m, 1) || lda < std::max<Index>(op_a == none ? m : n, 1) || ldb < std::max<Index>(op_b == none ? m : n, 1))
        return Outcome::bad_size;
    if (m == 0 || n == 0) return Outcome::ok;
    if (alpha == nullptr || beta == nullptr || c == nullptr) return Outcome::no_pointer;
    return later(h, name, [=, sa = Scalar<T>(h, alpha), sb = Scalar<T>(h, beta)](Operands& operands) {
        const T of_a = sa.get(operands, "alpha"), of_b = sb.get(operands, "beta");
        const Matrix<const T> first = under(a, op_a, m, n, lda), second = under(b, op_b, m, n, ldb);
        const Matrix<T> to{c, m, n, ldc};
        if (!(of_a == T{})) first.reads(operands, "A");
        if (!(of_b == T{})) second.reads(operands, "B");
        to.writes(operands, "C");
        if (!operands.fine()) return;
        for (Index j = 0; j < n; ++j)
            for (Index i = 0; i < m; ++i) {
                T value{};
                if (!(of_a == T{})) value = of_a * element<T>(first, op_a, i, j);
                if (!(of_b == T{})) value += of_b * element<T>(second, op_b, i, j);
                to(i, j) = value;
            }
    });
}

/// C = diag(x) * A, or A * diag(x).
template <class T>
Outcome dgmm(Handle* h, const char* name, int side, Index m, Index n, const T* a, Index lda, const T* x, Index incx, T* c, Index ldc) {
    if (h == nullptr) return Outcome::no_handle;
    if (side != left_side && side != right_side) return Outcome::bad_value;
    if (m < 0 || n < 0 || lda < std::max<Index>(m, 1) || ldc < std::max<Index>(m, 1)) return Outcome::bad_size;
    if (m == 0 || n == 0) return Outcome::ok;
    if (a == nullptr || x == nullptr || c == nullptr) return Outcome::no_pointer;
    return later(h, name, [=](Operands& operands) {
        const Matrix<const T> from{a, m, n, lda};
        const Vector<const T> factors{x, side == left_side ? m : n, incx};
        const Matrix<T> to{c, m, n, ldc};
        from.reads(operands, "A");
        factors.reads(operands, "x");
        to.writes(operands, "C");
        if (!operands.fine()) return;
        for (Index j = 0; j < n; ++j)
            for (Index i = 0; i < m; ++i) to(i, j) = from(i, j) * factors[side == left_side ? i : j];
    });
}

}  // namespace blas
