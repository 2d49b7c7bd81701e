// The product of two matrices, whatever they are stored as: panels are packed, multiplied in tiles, and handed to the caller.
#pragma once

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <thread>
#include <vector>

#include "blas/numbers.hpp"

namespace blas {

inline constexpr std::ptrdiff_t kTileRows = 96, kTileColumns = 96, kDepth = 256, kRows = 16, kColumns = 4;
inline constexpr double kSmall = 16.0 * 1024;  // multiplications for which packing does not pay off

/// A tile of 16 rows and 4 columns, columns apart by `pitch`, plus the product of `depth` packed steps.
void multiply_add(std::ptrdiff_t depth, const float* a, const float* b, float* tile, std::ptrdiff_t pitch);
void multiply_add(std::ptrdiff_t depth, const double* a, const double* b, double* tile, std::ptrdiff_t pitch);
void multiply_add(std::ptrdiff_t depth, const std::int32_t* a, const std::int32_t* b, std::int32_t* tile, std::ptrdiff_t pitch);
void multiply_add(std::ptrdiff_t depth, const ComplexFloat* a, const ComplexFloat* b, ComplexFloat* tile, std::ptrdiff_t pitch);
void multiply_add(std::ptrdiff_t depth, const ComplexDouble* a, const ComplexDouble* b, ComplexDouble* tile, std::ptrdiff_t pitch);

/// Do `part(i)` for i below `count`, on as many threads as pay off for so many multiplications.
template <class Part>
void in_parts(std::ptrdiff_t count, double multiplications, Part part) {
    const double worth = std::min(static_cast<double>(count), multiplications / 4e6);
    const auto threads = static_cast<unsigned>(std::clamp<double>(worth, 1, std::max(1U, std::thread::hardware_concurrency())));
    std::atomic<std::ptrdiff_t> next{0};
    const auto some = [&] {
        for (std::ptrdiff_t i = next++; i < count; i = next++) part(i);
    };
    std::vector<std::thread> others;
    for (unsigned t = 1; t < threads; ++t) others.emplace_back(some);
    some();
    for (std::thread& other : others) other.join();
}

/// For each element of an m x n matrix `store(i, j, sum)`, where sum is that of left(i, p) * right(p, j) over p < k. Which
/// order sums are taken in does not depend on the number of threads.
template <class T, class Left, class Right, class Store>
void multiply(std::ptrdiff_t m, std::ptrdiff_t n, std::ptrdiff_t k, Left left, Right right, Store store) {
    const std::ptrdiff_t down = (m + kTileRows - 1) / kTileRows, across = (n + kTileColumns - 1) / kTileColumns;
    const double work = static_cast<double>(m) * static_cast<double>(n) * static_cast<double>(std::max<std::ptrdiff_t>(k, 1));
    if (work <= kSmall) {  // as those of large batches are
        for (std::ptrdiff_t j = 0; j < n; ++j)
            for (std::ptrdiff_t i = 0; i < m; ++i) {
                T sum{};
                for (std::ptrdiff_t p = 0; p < k; ++p) sum += left(i, p) * right(p, j);
                store(i, j, sum);
            }
        return;
    }
    in_parts(down * across, work, [&](std::ptrdiff_t part) {
        const std::ptrdiff_t row = part % down * kTileRows, column = part / down * kTileColumns;
        const std::ptrdiff_t rows = std::min(kTileRows, m - row), columns = std::min(kTileColumns, n - column);
        std::vector<T> tile(kTileRows * kTileColumns), a(kTileRows * kDepth), b(kTileColumns * kDepth);
        for (std::ptrdiff_t from = 0; from < k; from += kDepth) {
            const std::ptrdiff_t depth = std::min(kDepth, k - from);
            for (std::ptrdiff_t i = 0; i < rows; i += kRows)
                for (std::ptrdiff_t p = 0; p < depth; ++p)
                    for (std::ptrdiff_t r = 0; r < kRows; ++r)
                        a[static_cast<std::size_t>(i * kDepth + p * kRows + r)] = i + r < rows ? left(row + i + r, from + p) : T{};
            for (std::ptrdiff_t j = 0; j < columns; j += kColumns)
                for (std::ptrdiff_t c = 0; c < kColumns; ++c)
                    for (std::ptrdiff_t p = 0; p < depth; ++p)
                        b[static_cast<std::size_t>(j * kDepth + p * kColumns + c)] = j + c < columns ? right(from + p, column + j + c) : T{};
            for (std::ptrdiff_t j = 0; j < columns; j += kColumns)
                for (std::ptrdiff_t i = 0; i < rows; i += kRows)
                    multiply_add(depth, &a[static_cast<std::size_t>(i * kDepth)], &b[static_cast<std::size_t>(j * kDepth)],
                                 &tile[static_cast<std::size_t>(j * kTileRows + i)], kTileRows);
        }
        for (std::ptrdiff_t j = 0; j < columns; ++j)
            for (std::ptrdiff_t i = 0; i < rows; ++i) store(row + i, column + j, tile[static_cast<std::size_t>(j * kTileRows + i)]);
    });
}

}  // namespace blas
