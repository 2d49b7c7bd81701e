// Operations on vectors.
#pragma once

#include <cmath>
#include <limits>

#include "blas/call.hpp"

namespace blas {

template <class T, class S>
Outcome axpy(Handle* h, const char* name, Index n, const S* alpha, Batch<const T> x, Index incx, Batch<T> y, Index incy, Index count = 1) {
    if (h == nullptr) return Outcome::no_handle;
    if (n <= 0 || count <= 0) return Outcome::ok;
    if (alpha == nullptr || x.missing() || y.missing()) return Outcome::no_pointer;
    return later(h, name, [=, a = Scalar<S>(h, alpha)](Operands& operands) {
        const auto factor = as<Sum<T>>(a.get(operands, "alpha"));
        x.look(operands, "x", count);
        y.look(operands, "y", count);
        for (Index b = 0; b < count && operands.fine(); ++b) {
            const Vector<const T> from{x.at(b), n, incx};
            const Vector<T> to{y.at(b), n, incy};
            from.reads(operands, "x");
            to.writes(operands, "y");
            if (!operands.fine()) return;
            for (Index i = 0; i < n; ++i) to[i] = as<T>(as<Sum<T>>(to[i]) + factor * as<Sum<T>>(from[i]));
        }
    });
}

template <class T, class S>
Outcome scal(Handle* h, const char* name, Index n, const S* alpha, Batch<T> x, Index incx, Index count = 1) {
    if (h == nullptr) return Outcome::no_handle;
    if (n <= 0 || incx <= 0 || count <= 0) return Outcome::ok;
    if (alpha == nullptr || x.missing()) return Outcome::no_pointer;
    return later(h, name, [=, a = Scalar<S>(h, alpha)](Operands& operands) {
        const auto factor = as<Sum<S>>(a.get(operands, "alpha"));
        x.look(operands, "x", count);
        for (Index b = 0; b < count && operands.fine(); ++b) {
            const Vector<T> to{x.at(b), n, incx};
            to.writes(operands, "x");
            if (!operands.fine()) return;
            for (Index i = 0; i < n; ++i) to[i] = as<T>(factor * as<Sum<T>>(to[i]));
        }
    });
}

template <class T>
Outcome copy(Handle* h, const char* name, Index n, Batch<const T> x, Index incx, Batch<T> y, Index incy, Index count = 1) {
    if (h == nullptr) return Outcome::no_handle;
    if (n <= 0 || count <= 0) return Outcome::ok;
    if (x.missing() || y.missing()) return Outcome::no_pointer;
    return later(h, name, [=](Operands& operands) {
        x.look(operands, "x", count);
        y.look(operands, "y", count);
        for (Index b = 0; b < count && operands.fine(); ++b) {
            const Vector<const T> from{x.at(b), n, incx};
            const Vector<T> to{y.at(b), n, incy};
            from.reads(operands, "x");
            to.writes(operands, "y");
            if (!operands.fine()) return;
            for (Index i = 0; i < n; ++i) to[i] = from[i];
        }
    });
}

template <class T>
Outcome swap(Handle* h, const char* name, Index n, T* x, Index incx, T* y, Index incy) {
    if (h == nullptr) return Outcome::no_handle;
    if (n <= 0) return Outcome::ok;
    if (x == nullptr || y == nullptr) return Outcome::no_pointer;
    return later(h, name, [=](Operands& operands) {
        const Vector<T> a{x, n, incx}, b{y, n, incy};
        a.writes(operands, "x");
        b.writes(operands, "y");
        if (!operands.fine()) return;
        for (Index i = 0; i < n; ++i) std::swap(a[i], b[i]);
    });
}

/// The results of a batch lie one behind the other.
template <bool conjugated, class T>
Outcome dot(Handle* h, const char* name, Index n, Batch<const T> x, Index incx, Batch<const T> y, Index incy, T* result, Index count = 1) {
    if (h == nullptr) return Outcome::no_handle;
    if (result == nullptr || (n > 0 && (x.missing() || y.missing()))) return Outcome::no_pointer;
    const bool device = h->pointer_mode == 1;
    return stand_in::compute(
        name, h->stream,
        [=](Operands& operands) {
            if (device) operands.writes("result", result, sizeof(T), sizeof(T) * static_cast<std::size_t>(count), 1);
            x.look(operands, "x", count);
            y.look(operands, "y", count);
            for (Index b = 0; b < count && operands.fine(); ++b) {
                if (n <= 0) {
                    result[b] = T{};
                    continue;
                }
                const Vector<const T> left{x.at(b), n, incx}, right{y.at(b), n, incy};
                left.reads(operands, "x");
                right.reads(operands, "y");
                if (!operands.fine()) return;
                Sum<T> sum{};
                for (Index i = 0; i < n; ++i) {
                    const T first = conjugated ? conjugate(left[i]) : left[i];
                    sum += as<Sum<T>>(first) * as<Sum<T>>(right[i]);
                }
                result[b] = as<T>(sum);
            }
        },
        !device);
}

/// |re| + |im|, the size by which BLAS compares complex numbers.
template <class T>
Real<T> size_of(T value) {
    if constexpr (is_complex<T>) return std::fabs(value.re) + std::fabs(value.im);
    else return std::fabs(value);
}

template <class T>
Outcome asum(Handle* h, const char* name, Index n, const T* x, Index incx, Real<T>* result) {
    if (h == nullptr) return Outcome::no_handle;
    if (result == nullptr || (n > 0 && x == nullptr)) return Outcome::no_pointer;
    return give(h, name, result, [=](Operands& operands) {
        const Vector<const T> v{x, incx > 0 ? n : 0, incx};
        v.reads(operands, "x");
        Real<T> sum = 0;
        for (Index i = 0; i < v.n && operands.fine(); ++i) sum += size_of(v[i]);
        return sum;
    });
}

/// By the largest element, so that no square overflows or vanishes.
template <class T>
Outcome nrm2(Handle* h, const char* name, Index n, const T* x, Index incx, Real<T>* result) {
    if (h == nullptr) return Outcome::no_handle;
    if (result == nullptr || (n > 0 && x == nullptr)) return Outcome::no_pointer;
    return give(h, name, result, [=](Operands& operands) -> Real<T> {
        const Vector<const T> v{x, incx > 0 ? n : 0, incx};
        v.reads(operands, "x");
        if (!operands.fine()) return 0;
        const auto parts = [&](auto take) {
            for (Index i = 0; i < v.n; ++i) {
                if constexpr (is_complex<T>) {
                    take(v[i].re);
                    take(v[i].im);
                } else take(v[i]);
            }
        };
        Real<T> most = 0;
        bool odd = false;
        parts([&](Real<T> p) {
            odd |= std::isnan(p);
            most = std::max(most, std::fabs(p));
        });
        if (odd) return std::numeric_limits<Real<T>>::quiet_NaN();
        if (most == 0 || std::isinf(most)) return most;
        Real<T> sum = 0;
        parts([&](Real<T> p) { sum += p / most * (p / most); });
        return most * std::sqrt(sum);
    });
}

/// The place of the first largest or smallest element, counted from 1; 0 when there is none.
template <bool largest, class T>
Outcome extreme(Handle* h, const char* name, Index n, const T* x, Index incx, int* result) {
    if (h == nullptr) return Outcome::no_handle;
    if (result == nullptr || (n > 0 && x == nullptr)) return Outcome::no_pointer;
    return give(h, name, result, [=](Operands& operands) {
        const Vector<const T> v{x, incx > 0 ? n : 0, incx};
        v.reads(operands, "x");
        if (!operands.fine() || v.n <= 0) return 0;
        Index best = 0;
        for (Index i = 1; i < v.n; ++i)
            if (largest ? size_of(v[i]) > size_of(v[best]) : size_of(v[i]) < size_of(v[best])) best = i;
        return static_cast<int>(best + 1);
    });
}

template <class T, class C, class S>
Outcome rot(Handle* h, const char* name, Index n, T* x, Index incx, T* y, Index incy, const C* c, const S* s) {
    if (h == nullptr) return Outcome::no_handle;
    if (n <= 0) return Outcome::ok;
    if (x == nullptr || y == nullptr || c == nullptr || s == nullptr) return Outcome::no_pointer;
    return later(h, name, [=, cosine = Scalar<C>(h, c), sine = Scalar<S>(h, s)](Operands& operands) {
        const C cs = cosine.get(operands, "c");
        const S sn = sine.get(operands, "s");
        const Vector<T> a{x, n, incx}, b{y, n, incy};
        a.writes(operands, "x");
        b.writes(operands, "y");
        if (!operands.fine()) return;
        for (Index i = 0; i < n; ++i) {
            const T u = a[i], w = b[i];
            a[i] = cs * u + sn * w;
            b[i] = cs * w - conjugate(sn) * u;
        }
    });
}

/// The rotation that makes (a, b) to (r, 0), with z by which it can be found again.
template <class T>
Outcome rotg(Handle* h, const char* name, T* a, T* b, T* c, T* s) {
    if (h == nullptr) return Outcome::no_handle;
    if (a == nullptr || b == nullptr || c == nullptr || s == nullptr) return Outcome::no_pointer;
    const bool device = h->pointer_mode == 1;
    return stand_in::compute(
        name, h->stream,
        [=](Operands& operands) {
            for (T* p : {a, b, c, s})
                if (device) operands.writes("a, b, c or s", p, sizeof(T), sizeof(T), 1);
            if (!operands.fine()) return;
            const T larger = std::fabs(*a) > std::fabs(*b) ? *a : *b, scale = std::fabs(*a) + std::fabs(*b);
            if (scale == 0) {
                *c = 1;
                *s = *a = *b = 0;
                return;
            }
            const T r = std::copysign(scale * std::hypot(*a / scale, *b / scale), larger);
            *c = *a / r;
            *s = *b / r;
            const T z = std::fabs(*a) > std::fabs(*b) ? *s : *c != 0 ? 1 / *c : T{1};
            *a = r;
            *b = z;
        },
        !device);
}

}  // namespace blas
