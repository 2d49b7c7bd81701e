// Handles, and copies of vectors and matrices between the host and the device.
#pragma once

#include "blas/level1.hpp"
#include "blas/level2.hpp"
#include "blas/level3.hpp"
#include "blas/typed.hpp"

namespace blas {

/// `count` elements of `size` bytes from one vector into another: rows of a box of one column.
inline Outcome copy_vector(Index count, Index size, const void* x, Index incx, void* y, Index incy, int kind, void* stream, bool wait) {
    if (count < 0 || size <= 0 || incx <= 0 || incy <= 0) return Outcome::bad_size;
    if (count == 0) return Outcome::ok;
    if (x == nullptr || y == nullptr) return Outcome::no_pointer;
    const auto bytes = [](Index n) { return static_cast<std::size_t>(n); };
    const bool close = incx == 1 && incy == 1;
    const std::size_t width = bytes(close ? count * size : size), rows = bytes(close ? 1 : count);
    const std::size_t to = close ? width : bytes(incy * size), from = close ? width : bytes(incx * size);
    const int error = wait ? hipMemcpy2D(y, to, x, from, width, rows, kind) : hipMemcpy2DAsync(y, to, x, from, width, rows, kind, stream);
    return error == 0 ? Outcome::ok : Outcome::failed;
}

inline Outcome copy_matrix(Index rows, Index columns, Index size, const void* a, Index lda, void* b, Index ldb, int kind, void* stream, bool wait) {
    if (rows < 0 || columns < 0 || size <= 0 || lda < std::max<Index>(rows, 1) || ldb < std::max<Index>(rows, 1)) return Outcome::bad_size;
    if (rows == 0 || columns == 0) return Outcome::ok;
    if (a == nullptr || b == nullptr) return Outcome::no_pointer;
    const auto bytes = [size](Index n) { return static_cast<std::size_t>(n * size); };
    const auto count = static_cast<std::size_t>(columns);
    const int error = wait ? hipMemcpy2D(b, bytes(ldb), a, bytes(lda), bytes(rows), count, kind)
                           : hipMemcpy2DAsync(b, bytes(ldb), a, bytes(lda), bytes(rows), count, kind, stream);
    return error == 0 ? Outcome::ok : Outcome::failed;
}

}  // namespace blas
