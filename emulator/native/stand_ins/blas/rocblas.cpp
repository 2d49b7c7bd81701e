// The exported functions of librocblas.so.
#include <array>
#include <cstring>

#include "blas/common.hpp"

namespace {

using namespace blas;

int status(Outcome outcome) {
    switch (outcome) {
        case Outcome::ok: return 0;
        case Outcome::no_handle: return 1;      // rocblas_status_invalid_handle
        case Outcome::no_pointer: return 3;     // rocblas_status_invalid_pointer
        case Outcome::bad_size: return 4;       // rocblas_status_invalid_size
        case Outcome::bad_value: return 11;     // rocblas_status_invalid_value
        case Outcome::not_supported: return 2;  // rocblas_status_not_implemented
        case Outcome::failed: break;
    }
    return 6;  // rocblas_status_internal_error
}

constexpr int kToDevice = 1, kToHost = 2;

}  // namespace

#define BLAS(Name, name) STAND_IN_API int rocblas_##name
#define NAMED(Name, name) "rocblas_" #name
#define GIVE(outcome) return status(outcome)
#include "blas/functions.inc"

STAND_IN_API int rocblas_create_handle(Handle** handle) {
    if (handle == nullptr) return 1;
    if (!stand_in::on_emulator("rocBLAS")) return 6;
    *handle = new Handle;  // NOLINT(cppcoreguidelines-owning-memory): the program's until it destroys it
    return 0;
}
STAND_IN_API int rocblas_destroy_handle(Handle* handle) {
    if (handle == nullptr) return 1;
    delete handle;  // NOLINT(cppcoreguidelines-owning-memory)
    return 0;
}
#define ROCBLAS_PROPERTY(name, field, T)                                    \
    STAND_IN_API int rocblas_set_##name(Handle* h, T value) {               \
        if (h == nullptr) return 1;                                         \
        h->field = value;                                                   \
        return 0;                                                           \
    }                                                                       \
    STAND_IN_API int rocblas_get_##name(Handle* h, T* value) {              \
        if (h == nullptr) return 1;                                         \
        if (value == nullptr) return 3;                                     \
        *value = h->field;                                                  \
        return 0;                                                           \
    }
ROCBLAS_PROPERTY(stream, stream, void*)
ROCBLAS_PROPERTY(pointer_mode, pointer_mode, int)
ROCBLAS_PROPERTY(atomics_mode, atomics_mode, int)
ROCBLAS_PROPERTY(math_mode, math_mode, int)

STAND_IN_API void rocblas_initialize() {}
STAND_IN_API int rocblas_pointer_to_mode(void* pointer) { return hipscopeLibraryMemory != nullptr && hipscopeLibraryMemory(pointer, 1, 1, 1, 0) == 0 ? 1 : 0; }
STAND_IN_API int rocblas_set_vector(int n, int size, const void* x, int incx, void* y, int incy) { GIVE(copy_vector(n, size, x, incx, y, incy, kToDevice, nullptr, true)); }
STAND_IN_API int rocblas_get_vector(int n, int size, const void* x, int incx, void* y, int incy) { GIVE(copy_vector(n, size, x, incx, y, incy, kToHost, nullptr, true)); }
STAND_IN_API int rocblas_set_matrix(int m, int n, int size, const void* a, int lda, void* b, int ldb) { GIVE(copy_matrix(m, n, size, a, lda, b, ldb, kToDevice, nullptr, true)); }
STAND_IN_API int rocblas_get_matrix(int m, int n, int size, const void* a, int lda, void* b, int ldb) { GIVE(copy_matrix(m, n, size, a, lda, b, ldb, kToHost, nullptr, true)); }
STAND_IN_API int rocblas_set_vector_async(int n, int size, const void* x, int incx, void* y, int incy, void* s) { GIVE(copy_vector(n, size, x, incx, y, incy, kToDevice, s, false)); }
STAND_IN_API int rocblas_get_vector_async(int n, int size, const void* x, int incx, void* y, int incy, void* s) { GIVE(copy_vector(n, size, x, incx, y, incy, kToHost, s, false)); }
STAND_IN_API int rocblas_set_matrix_async(int m, int n, int size, const void* a, int lda, void* b, int ldb, void* s) { GIVE(copy_matrix(m, n, size, a, lda, b, ldb, kToDevice, s, false)); }
STAND_IN_API int rocblas_get_matrix_async(int m, int n, int size, const void* a, int lda, void* b, int ldb, void* s) { GIVE(copy_matrix(m, n, size, a, lda, b, ldb, kToHost, s, false)); }

STAND_IN_API const char* rocblas_status_to_string(int value) {
    static constexpr std::array<const char*, 16> names{
        "rocblas_status_success", "rocblas_status_invalid_handle", "rocblas_status_not_implemented", "rocblas_status_invalid_pointer",
        "rocblas_status_invalid_size", "rocblas_status_memory_error", "rocblas_status_internal_error", "rocblas_status_perf_degraded",
        "rocblas_status_size_query_mismatch", "rocblas_status_size_increased", "rocblas_status_size_unchanged", "rocblas_status_invalid_value",
        "rocblas_status_continue", "rocblas_status_check_numerics_fail", "rocblas_status_excluded_from_build", "rocblas_status_arch_mismatch"};
    return value >= 0 && value < static_cast<int>(names.size()) ? names[static_cast<std::size_t>(value)] : "<undefined rocblas_status value>";
}

constexpr const char* kVersion = "4.2.0";
STAND_IN_API int rocblas_get_version_string(char* text, std::size_t size) {
    if (text == nullptr) return 3;
    if (size <= std::strlen(kVersion)) return 4;
    std::strcpy(text, kVersion);
    return 0;
}
STAND_IN_API int rocblas_get_version_string_size(std::size_t* size) {
    if (size == nullptr) return 3;
    *size = std::strlen(kVersion) + 1;
    return 0;
}

STAND_IN_API int rocblas_gemm_ex(Handle* h, int op_a, int op_b, int m, int n, int k, const void* alpha, const void* a, int at, int lda, const void* b, int bt, int ldb,
                                 const void* beta, const void* c, int ct, int ldc, void* d, int dt, int ldd, int compute, int, std::int32_t, std::uint32_t) {
    GIVE(typed_gemm(h, "rocblas_gemm_ex", {op_a, op_b, m, n, k, alpha, a, at, lda, 0, b, bt, ldb, 0, beta, c, ct, ldc, 0, d, dt, ldd, 0, compute}));
}
STAND_IN_API int rocblas_gemm_batched_ex(Handle* h, int op_a, int op_b, int m, int n, int k, const void* alpha, const void* a, int at, int lda, const void* b, int bt,
                                         int ldb, const void* beta, const void* c, int ct, int ldc, void* d, int dt, int ldd, int count, int compute, int, std::int32_t,
                                         std::uint32_t) {
    GIVE(typed_gemm(h, "rocblas_gemm_batched_ex",
                    {op_a, op_b, m, n, k, alpha, a, at, lda, 0, b, bt, ldb, 0, beta, c, ct, ldc, 0, d, dt, ldd, 0, compute, count, true}));
}
STAND_IN_API int rocblas_gemm_strided_batched_ex(Handle* h, int op_a, int op_b, int m, int n, int k, const void* alpha, const void* a, int at, int lda, std::int64_t sa,
                                                 const void* b, int bt, int ldb, std::int64_t sb, const void* beta, const void* c, int ct, int ldc, std::int64_t sc, void* d,
                                                 int dt, int ldd, std::int64_t sd, int count, int compute, int, std::int32_t, std::uint32_t) {
    GIVE(typed_gemm(h, "rocblas_gemm_strided_batched_ex",
                    {op_a, op_b, m, n, k, alpha, a, at, lda, sa, b, bt, ldb, sb, beta, c, ct, ldc, sc, d, dt, ldd, sd, compute, count}));
}
