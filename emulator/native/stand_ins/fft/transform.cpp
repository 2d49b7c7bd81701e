// Mixed radices (Cooley and Tukey) for lengths of small primes, a convolution of a power of two (Bluestein) for others.
#include "fft/transform.hpp"

#include <numbers>

namespace fft {
namespace {

constexpr std::size_t kLargestRadix = 64;

Number root(double part, int sign) { return std::polar(1.0, sign * 2 * std::numbers::pi * part); }

/// Without the checks for infinite numbers that the operator of std::complex has.
Number times(Number a, Number b) { return {a.real() * b.real() - a.imag() * b.imag(), a.real() * b.imag() + a.imag() * b.real()}; }

}  // namespace

Transform::Transform(std::size_t n, int sign) : n_(n), sign_(sign), roots_(n) {
    for (std::size_t k = 0; k < n; ++k) roots_[k] = root(static_cast<double>(k) / static_cast<double>(n), sign);
    std::size_t rest = n;
    for (std::size_t p = 2; p <= rest; ++p)
        for (; rest % p == 0; rest /= p) factors_.push_back(p);
    if (!factors_.empty() && factors_.back() > kLargestRadix) factors_.clear();
}

void Transform::apply(std::vector<Number>& x) const {
    if (n_ < 2) return;
    if (factors_.empty()) return by_convolution(x);
    const std::vector<Number> from = x;
    split(from.data(), 1, x.data(), n_, 0);
}

/// The transform of n numbers that lie `stride` apart: `p` transforms of every p-th number, put together.
void Transform::split(const Number* from, std::size_t stride, Number* to, std::size_t n, std::size_t factor) const {
    if (n == 1) {
        *to = *from;
        return;
    }
    const std::size_t p = factors_[factor], part = n / p, step = n_ / n;
    for (std::size_t i = 0; i < p; ++i) split(from + i * stride, stride * p, to + i * part, part, factor + 1);
    Number terms[kLargestRadix];
    for (std::size_t k = 0; k < part; ++k) {
        for (std::size_t i = 0; i < p; ++i) terms[i] = times(to[i * part + k], roots_[i * k * step]);
        for (std::size_t j = 0; j < p; ++j) {
            Number sum = terms[0];
            for (std::size_t i = 1; i < p; ++i) sum += times(terms[i], roots_[i * j % p * (n_ / p)]);
            to[j * part + k] = sum;
        }
    }
}

void Transform::by_convolution(std::vector<Number>& x) const {
    std::size_t wide = 1;
    while (wide < 2 * n_ - 1) wide *= 2;
    const Transform forward(wide, -1), backward(wide, 1);
    std::vector<Number> chirp(n_), a(wide), b(wide);
    for (std::size_t k = 0; k < n_; ++k)  // k * k modulo 2n, as the angle of a large square has no digits left
        chirp[k] = root(static_cast<double>(k * k % (2 * n_)) / static_cast<double>(2 * n_), sign_);
    for (std::size_t k = 0; k < n_; ++k) {
        a[k] = times(x[k], chirp[k]);
        b[k] = std::conj(chirp[k]);
        if (k > 0) b[wide - k] = b[k];
    }
    forward.apply(a);
    forward.apply(b);
    for (std::size_t k = 0; k < wide; ++k) a[k] = times(a[k], b[k]);
    backward.apply(a);
    for (std::size_t k = 0; k < n_; ++k) x[k] = times(a[k], chirp[k]) / static_cast<double>(wide);
}

}  // namespace fft
