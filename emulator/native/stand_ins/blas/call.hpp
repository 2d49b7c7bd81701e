// One call of BLAS: its handle, scalars that are the host's or the device's, and batches of vectors and matrices.
#pragma once

#include <cstdint>
#include <cstdlib>

#include "blas/numbers.hpp"
#include "runtime.hpp"

namespace blas {

using stand_in::Operands;
using stand_in::Outcome;
using Index = std::ptrdiff_t;

struct Handle {
    void* stream = nullptr;
    int pointer_mode = 0;  // 0: scalars and results are the host's, 1: the device's
    int atomics_mode = 1;
    int math_mode = 0;
};

/// The numbers that both libraries and C BLAS have.
enum Operation { none = 111, transpose = 112, conjugate_transpose = 113 };
enum Fill { upper = 121, lower = 122 };
enum Diagonal { non_unit = 131, unit = 132 };
enum Side { left_side = 141, right_side = 142 };

inline bool is_operation(int op) { return op == none || op == transpose || op == conjugate_transpose; }
inline bool is_fill(int fill) { return fill == upper || fill == lower; }

/// A scalar argument: the host's is taken at the call, the device's when the call's turn has come.
template <class T>
class Scalar {
public:
    Scalar(const Handle* handle, const T* pointer) : pointer_(handle->pointer_mode == 1 ? pointer : nullptr), value_(pointer_ == nullptr ? *pointer : T{}) {}
    explicit Scalar(T value) : value_(value) {}
    /// What it is now; zero where the device's cannot be read.
    [[nodiscard]] T get(Operands& operands, const char* name) const {
        if (pointer_ == nullptr) return value_;
        operands.reads(name, pointer_, sizeof(T), sizeof(T), 1);
        return operands.fine() ? *pointer_ : T{};
    }

private:
    const T* pointer_ = nullptr;
    T value_{};
};

/// Vectors or matrices of a call: one, several at a distance of `stride` elements, or those of a list on the device.
template <class T>
struct Batch {
    T* base = nullptr;
    Index stride = 0;
    T* const* list = nullptr;

    [[nodiscard]] bool missing() const { return base == nullptr && list == nullptr; }
    [[nodiscard]] T* at(Index i) const { return list != nullptr ? list[i] : base + i * stride; }
    /// The list itself is read, too.
    void look(Operands& operands, const char* name, Index count) const {
        if (list != nullptr) operands.reads(name, list, sizeof(T*), sizeof(T*), static_cast<std::size_t>(count));
    }
};

/// One vector or matrix.
template <class T>
Batch<T> one(T* pointer) { return {pointer, 0, nullptr}; }
template <class T>
Batch<T> strided(T* pointer, Index stride) { return {pointer, stride, nullptr}; }
template <class T>
Batch<T> listed(T* const* list) { return {nullptr, 0, list}; }

/// A vector of n elements: where its i-th one lies. With a negative distance it is stored backwards.
template <class T>
struct Vector {
    T* start;
    Index n, distance;

    T& operator[](Index i) const { return start[distance >= 0 ? i * distance : (i - n + 1) * distance]; }
    void reads(Operands& operands, const char* name) const { look(operands, name, false); }
    void writes(Operands& operands, const char* name) const { look(operands, name, true); }

private:
    void look(Operands& operands, const char* name, bool written) const {
        if (n <= 0) return;
        const auto count = static_cast<std::size_t>(distance == 0 ? 1 : n), pitch = static_cast<std::size_t>(std::abs(distance)) * sizeof(T);
        const bool close = pitch == sizeof(T);
        const std::size_t width = close ? count * sizeof(T) : sizeof(T), rows = close ? 1 : count;
        if (written) operands.writes(name, start, pitch, width, rows);
        else operands.reads(name, start, pitch, width, rows);
    }
};

/// A matrix by columns that lie `distance` elements apart.
template <class T>
struct Matrix {
    T* start;
    Index rows, columns, distance;

    T& operator()(Index i, Index j) const { return start[j * distance + i]; }
    void reads(Operands& operands, const char* name) const { look(operands, name, false); }
    void writes(Operands& operands, const char* name) const { look(operands, name, true); }

private:
    void look(Operands& operands, const char* name, bool written) const {
        if (rows <= 0 || columns <= 0) return;
        const auto width = static_cast<std::size_t>(rows) * sizeof(T), pitch = static_cast<std::size_t>(distance) * sizeof(T);
        const auto count = static_cast<std::size_t>(columns);
        const bool close = pitch == width;
        if (written) operands.writes(name, start, pitch, close ? width * count : width, close ? 1 : count);
        else operands.reads(name, start, pitch, close ? width * count : width, close ? 1 : count);
    }
};

/// A result that is one number: the host's, for which the call is waited for, or the device's.
template <class T, class Work>
Outcome give(const Handle* handle, const std::string& name, T* result, Work work) {
    const bool device = handle->pointer_mode == 1;
    return stand_in::compute(
        name, handle->stream,
        [=](Operands& operands) {
            if (device) operands.writes("result", result, sizeof(T), sizeof(T), 1);
            if (!operands.fine()) return;
            const T value = work(operands);
            if (operands.fine()) *result = value;
        },
        !device);
}

template <class Work>
Outcome later(const Handle* handle, const std::string& name, Work work) {
    return stand_in::compute(name, handle->stream, work);
}

}  // namespace blas
