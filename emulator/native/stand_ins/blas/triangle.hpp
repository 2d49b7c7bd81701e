// Matrices of which one triangle is given: symmetric, Hermitian and triangular ones.
#pragma once

#include <vector>

#include "blas/call.hpp"

namespace blas {

inline bool in_triangle(int fill, Index i, Index j) { return fill == upper ? i <= j : i >= j; }

template <class Each>
void for_triangle(Index n, int fill, Each each) {
    for (Index j = 0; j < n; ++j)
        for (Index i = fill == upper ? 0 : j; i < (fill == upper ? j + 1 : n); ++i) each(i, j);
}

template <class T>
void reads_triangle(Operands& operands, const Matrix<const T>& m, int fill, const char* name) {
    for (Index j = 0; j < m.columns && operands.fine(); ++j)
        Matrix<const T>{fill == upper ? &m(0, j) : &m(j, j), fill == upper ? j + 1 : m.rows - j, 1, m.distance}.reads(operands, name);
}
template <class T>
void writes_triangle(Operands& operands, const Matrix<T>& m, int fill, const char* name) {
    for (Index j = 0; j < m.columns && operands.fine(); ++j)
        Matrix<T>{fill == upper ? &m(0, j) : &m(j, j), fill == upper ? j + 1 : m.rows - j, 1, m.distance}.writes(operands, name);
}

/// An element of a symmetric or Hermitian matrix, wherever it is.
template <bool hermitian, class T>
T of_symmetric(const Matrix<const T>& m, int fill, Index i, Index j) {
    if constexpr (hermitian && is_complex<T>)
        if (i == j) return {m(i, i).re, 0};
    if (in_triangle(fill, i, j)) return m(i, j);
    return hermitian ? conjugate(m(j, i)) : m(j, i);
}

/// op(A) of a triangular A, by rows without gaps.
template <class T>
class Triangle {
public:
    Triangle(const Matrix<const T>& a, int fill, int op, bool unit_diagonal, bool flipped = false)
        : n_(a.rows), lower_((fill == lower) == ((op == none) != flipped)), values_(static_cast<std::size_t>(n_ * n_)) {
        for_triangle(n_, fill, [&](Index i, Index j) {
            T value = i == j && unit_diagonal ? real_number<T>(1) : a(i, j);
            if (op == conjugate_transpose) value = conjugate(value);
            if ((op == none) != flipped) at(i, j) = value;
            else at(j, i) = value;
        });
    }

    [[nodiscard]] T operator()(Index i, Index j) const { return values_[static_cast<std::size_t>(i * n_ + j)]; }

    /// x with op(A) * x = b, in place.
    void solve(std::vector<T>& x) const {
        for (Index step = 0; step < n_; ++step) {
            const Index i = lower_ ? step : n_ - 1 - step, from = lower_ ? 0 : i + 1, to = lower_ ? i : n_;
            const T* const row = &values_[static_cast<std::size_t>(i * n_)];
            T sum = x[static_cast<std::size_t>(i)];
            for (Index j = from; j < to; ++j) sum -= row[j] * x[static_cast<std::size_t>(j)];
            x[static_cast<std::size_t>(i)] = sum / row[i];
        }
    }

    [[nodiscard]] std::vector<T> times(const std::vector<T>& x) const {
        std::vector<T> result(x.size());
        for (Index i = 0; i < n_; ++i)
            for (Index j = lower_ ? 0 : i; j < (lower_ ? i + 1 : n_); ++j)
                result[static_cast<std::size_t>(i)] += (*this)(i, j) * x[static_cast<std::size_t>(j)];
        return result;
    }

private:
    T& at(Index i, Index j) { return values_[static_cast<std::size_t>(i * n_ + j)]; }

    Index n_;
    bool lower_;
    std::vector<T> values_;
};

}  // namespace blas
