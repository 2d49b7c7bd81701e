// The discrete Fourier transform of any length, in double precision.
#pragma once

#include <complex>
#include <cstddef>
#include <vector>

namespace fft {

using Number = std::complex<double>;

/// Transforms of one length: sum over j of x[j] * exp(sign * 2 pi i j k / n), in place.
class Transform {
public:
    Transform(std::size_t n, int sign);
    void apply(std::vector<Number>& x) const;

private:
    void split(const Number* from, std::size_t stride, Number* to, std::size_t n, std::size_t factor) const;
    void by_convolution(std::vector<Number>& x) const;

    std::size_t n_;
    int sign_;
    std::vector<Number> roots_;         // exp(sign * 2 pi i k / n)
    std::vector<std::size_t> factors_;  // primes; empty: one is large, and a convolution is taken (Bluestein)
};

}  // namespace fft
