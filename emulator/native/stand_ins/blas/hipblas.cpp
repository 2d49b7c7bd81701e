// The exported functions of libhipblas.so.
#include <array>

#include "blas/common.hpp"

namespace {

using namespace blas;

int status(Outcome outcome) {
    switch (outcome) {
        case Outcome::ok: return 0;
        case Outcome::no_handle: return 1;      // HIPBLAS_STATUS_NOT_INITIALIZED
        case Outcome::no_pointer:
        case Outcome::bad_size: return 3;       // HIPBLAS_STATUS_INVALID_VALUE
        case Outcome::bad_value: return 10;     // HIPBLAS_STATUS_INVALID_ENUM
        case Outcome::not_supported: return 7;  // HIPBLAS_STATUS_NOT_SUPPORTED
        case Outcome::failed: break;
    }
    return 5;  // HIPBLAS_STATUS_EXECUTION_FAILED
}

constexpr int kToDevice = 1, kToHost = 2;

/// HIP's numbers of types as those of `Type`; 0 for one that no product has.
int type_of(int hip_type) {
    constexpr std::array<std::array<int, 2>, 8> known{{{0, f32}, {1, f64}, {2, f16}, {3, i8}, {4, c32}, {5, c64}, {10, i32}, {14, bf16}}};
    for (const auto& [hip, type] : known)
        if (hip == hip_type) return type;
    return 0;
}

/// What hipblasComputeType_t sums in, for matrices of this type.
int type_of_compute(int compute, int c_type) {
    switch (compute) {
        case 0: case 1: return f16;
        case 2: case 3: case 4: case 5: case 6: return c_type == c32 ? c32 : f32;
        case 7: case 8: return c_type == c64 ? c64 : f64;
        case 9: case 10: return i32;
        default: return 0;
    }
}

TypedProduct in_hip_types(TypedProduct p, int compute) {
    p.a_type = type_of(p.a_type);
    p.b_type = type_of(p.b_type);
    p.c_type = p.d_type = type_of(p.c_type);
    p.compute_type = type_of_compute(compute, p.c_type);
    return p;
}

}  // namespace

#define BLAS(Name, name) STAND_IN_API int hipblas##Name
#define NAMED(Name, name) "hipblas" #Name
#define GIVE(outcome) return status(outcome)
#include "blas/functions.inc"

STAND_IN_API int hipblasCreate(Handle** handle) {
    if (handle == nullptr) return 9;  // HIPBLAS_STATUS_HANDLE_IS_NULLPTR
    if (!stand_in::on_emulator("hipBLAS")) return 1;
    *handle = new Handle;  // NOLINT(cppcoreguidelines-owning-memory): the program's until it destroys it
    return 0;
}
STAND_IN_API int hipblasDestroy(Handle* handle) {
    if (handle == nullptr) return 1;
    delete handle;  // NOLINT(cppcoreguidelines-owning-memory)
    return 0;
}
#define HIPBLAS_PROPERTY(Name, field, T)                                    \
    STAND_IN_API int hipblasSet##Name(Handle* h, T value) {                 \
        if (h == nullptr) return 1;                                         \
        h->field = value;                                                   \
        return 0;                                                           \
    }                                                                       \
    STAND_IN_API int hipblasGet##Name(Handle* h, T* value) {                \
        if (h == nullptr) return 1;                                         \
        if (value == nullptr) return 3;                                     \
        *value = h->field;                                                  \
        return 0;                                                           \
    }
HIPBLAS_PROPERTY(Stream, stream, void*)
HIPBLAS_PROPERTY(PointerMode, pointer_mode, int)
HIPBLAS_PROPERTY(AtomicsMode, atomics_mode, int)
HIPBLAS_PROPERTY(MathMode, math_mode, int)

STAND_IN_API int hipblasSetVector(int n, int size, const void* x, int incx, void* y, int incy) { GIVE(copy_vector(n, size, x, incx, y, incy, kToDevice, nullptr, true)); }
STAND_IN_API int hipblasGetVector(int n, int size, const void* x, int incx, void* y, int incy) { GIVE(copy_vector(n, size, x, incx, y, incy, kToHost, nullptr, true)); }
STAND_IN_API int hipblasSetMatrix(int m, int n, int size, const void* a, int lda, void* b, int ldb) { GIVE(copy_matrix(m, n, size, a, lda, b, ldb, kToDevice, nullptr, true)); }
STAND_IN_API int hipblasGetMatrix(int m, int n, int size, const void* a, int lda, void* b, int ldb) { GIVE(copy_matrix(m, n, size, a, lda, b, ldb, kToHost, nullptr, true)); }
STAND_IN_API int hipblasSetVectorAsync(int n, int size, const void* x, int incx, void* y, int incy, void* s) { GIVE(copy_vector(n, size, x, incx, y, incy, kToDevice, s, false)); }
STAND_IN_API int hipblasGetVectorAsync(int n, int size, const void* x, int incx, void* y, int incy, void* s) { GIVE(copy_vector(n, size, x, incx, y, incy, kToHost, s, false)); }
STAND_IN_API int hipblasSetMatrixAsync(int m, int n, int size, const void* a, int lda, void* b, int ldb, void* s) { GIVE(copy_matrix(m, n, size, a, lda, b, ldb, kToDevice, s, false)); }
STAND_IN_API int hipblasGetMatrixAsync(int m, int n, int size, const void* a, int lda, void* b, int ldb, void* s) { GIVE(copy_matrix(m, n, size, a, lda, b, ldb, kToHost, s, false)); }

STAND_IN_API const char* hipblasStatusToString(int value) {
    static constexpr std::array<const char*, 12> names{
        "HIPBLAS_STATUS_SUCCESS", "HIPBLAS_STATUS_NOT_INITIALIZED", "HIPBLAS_STATUS_ALLOC_FAILED", "HIPBLAS_STATUS_INVALID_VALUE",
        "HIPBLAS_STATUS_MAPPING_ERROR", "HIPBLAS_STATUS_EXECUTION_FAILED", "HIPBLAS_STATUS_INTERNAL_ERROR", "HIPBLAS_STATUS_NOT_SUPPORTED",
        "HIPBLAS_STATUS_ARCH_MISMATCH", "HIPBLAS_STATUS_HANDLE_IS_NULLPTR", "HIPBLAS_STATUS_INVALID_ENUM", "HIPBLAS_STATUS_UNKNOWN"};
    return names[value >= 0 && value < static_cast<int>(names.size()) ? static_cast<std::size_t>(value) : names.size() - 1];
}

// Each product of named types twice: with hipBLAS's own numbers of types, and with HIP's and a compute type (_v2).
#define HIPBLAS_TYPED(Name, parameters, compute_parameter, ...)                                      \
    STAND_IN_API int hipblas##Name(Handle* h, parameters, compute_parameter, int) {                  \
        TypedProduct p __VA_ARGS__;                                                                  \
        p.compute_type = compute;                                                                    \
        GIVE(typed_gemm(h, "hipblas" #Name, p));                                                     \
    }                                                                                                \
    STAND_IN_API int hipblas##Name##_v2(Handle* h, parameters, compute_parameter, int) {             \
        GIVE(typed_gemm(h, "hipblas" #Name, in_hip_types(TypedProduct __VA_ARGS__, compute)));       \
    }
#define COMMA ,
HIPBLAS_TYPED(GemmEx,
              int op_a COMMA int op_b COMMA int m COMMA int n COMMA int k COMMA const void* alpha COMMA const void* a COMMA int at COMMA int lda COMMA const void* b
                  COMMA int bt COMMA int ldb COMMA const void* beta COMMA void* c COMMA int ct COMMA int ldc,
              int compute, {op_a, op_b, m, n, k, alpha, a, at, lda, 0, b, bt, ldb, 0, beta, c, ct, ldc, 0, c, ct, ldc, 0, 0})
HIPBLAS_TYPED(GemmBatchedEx,
              int op_a COMMA int op_b COMMA int m COMMA int n COMMA int k COMMA const void* alpha COMMA const void* const* a COMMA int at COMMA int lda COMMA
                  const void* const* b COMMA int bt COMMA int ldb COMMA const void* beta COMMA void* const* c COMMA int ct COMMA int ldc COMMA int count,
              int compute, {op_a, op_b, m, n, k, alpha, a, at, lda, 0, b, bt, ldb, 0, beta, c, ct, ldc, 0, const_cast<void**>(c), ct, ldc, 0, 0, count, true})
HIPBLAS_TYPED(GemmStridedBatchedEx,
              int op_a COMMA int op_b COMMA int m COMMA int n COMMA int k COMMA const void* alpha COMMA const void* a COMMA int at COMMA int lda COMMA
                  std::int64_t sa COMMA const void* b COMMA int bt COMMA int ldb COMMA std::int64_t sb COMMA const void* beta COMMA void* c COMMA int ct COMMA int ldc
                      COMMA std::int64_t sc COMMA int count,
              int compute, {op_a, op_b, m, n, k, alpha, a, at, lda, sa, b, bt, ldb, sb, beta, c, ct, ldc, sc, c, ct, ldc, sc, 0, count})
