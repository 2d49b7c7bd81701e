// The functions that hipBLAS and rocBLAS have in common. Who includes this says how one is declared, BLAS_F(HipName, rocname,
// (parameters)), and with which types: BLAS_HANDLE, BLAS_INT, BLAS_STRIDE, BLAS_OP, BLAS_FILL, BLAS_DIAG, BLAS_SIDE, BLAS_HALF,
// BLAS_BFLOAT, BLAS_COMPLEX and BLAS_DOUBLE_COMPLEX.

#define BLAS_VECTORS(T, P, p)                                                                                             \
    BLAS_F(P##axpy, p##axpy, (BLAS_HANDLE handle, BLAS_INT n, const T* alpha, const T* x, BLAS_INT incx, T* y, BLAS_INT incy))                      \
    BLAS_F(P##axpyBatched, p##axpy_batched, (BLAS_HANDLE handle, BLAS_INT n, const T* alpha, const T* const x[], BLAS_INT incx, T* const y[], BLAS_INT incy, BLAS_INT count)) \
    BLAS_F(P##axpyStridedBatched, p##axpy_strided_batched, (BLAS_HANDLE handle, BLAS_INT n, const T* alpha, const T* x, BLAS_INT incx, BLAS_STRIDE stridex, T* y, BLAS_INT incy, BLAS_STRIDE stridey, BLAS_INT count)) \
    BLAS_F(P##scal, p##scal, (BLAS_HANDLE handle, BLAS_INT n, const T* alpha, T* x, BLAS_INT incx))                                            \
    BLAS_F(P##scalStridedBatched, p##scal_strided_batched, (BLAS_HANDLE handle, BLAS_INT n, const T* alpha, T* x, BLAS_INT incx, BLAS_STRIDE stride, BLAS_INT count)) \
    BLAS_F(P##copy, p##copy, (BLAS_HANDLE handle, BLAS_INT n, const T* x, BLAS_INT incx, T* y, BLAS_INT incy))                                      \
    BLAS_F(P##copyStridedBatched, p##copy_strided_batched, (BLAS_HANDLE handle, BLAS_INT n, const T* x, BLAS_INT incx, BLAS_STRIDE stridex, T* y, BLAS_INT incy, BLAS_STRIDE stridey, BLAS_INT count)) \
    BLAS_F(P##swap, p##swap, (BLAS_HANDLE handle, BLAS_INT n, T* x, BLAS_INT incx, T* y, BLAS_INT incy))                                            \
    BLAS_F(I##p##amax, i##p##amax, (BLAS_HANDLE handle, BLAS_INT n, const T* x, BLAS_INT incx, BLAS_INT* result))                                   \
    BLAS_F(I##p##amin, i##p##amin, (BLAS_HANDLE handle, BLAS_INT n, const T* x, BLAS_INT incx, BLAS_INT* result))

#define BLAS_NORMS(T, R, Both, both)                                                         \
    BLAS_F(Both##nrm2, both##nrm2, (BLAS_HANDLE handle, BLAS_INT n, const T* x, BLAS_INT incx, R* result))        \
    BLAS_F(Both##asum, both##asum, (BLAS_HANDLE handle, BLAS_INT n, const T* x, BLAS_INT incx, R* result))

#define BLAS_DOTS(T, Name, name)                                                                                          \
    BLAS_F(Name, name, (BLAS_HANDLE handle, BLAS_INT n, const T* x, BLAS_INT incx, const T* y, BLAS_INT incy, T* result))                           \
    BLAS_F(Name##Batched, name##_batched, (BLAS_HANDLE handle, BLAS_INT n, const T* const x[], BLAS_INT incx, const T* const y[], BLAS_INT incy, BLAS_INT count, T* result)) \
    BLAS_F(Name##StridedBatched, name##_strided_batched, (BLAS_HANDLE handle, BLAS_INT n, const T* x, BLAS_INT incx, BLAS_STRIDE stridex, const T* y, BLAS_INT incy, BLAS_STRIDE stridey, BLAS_INT count, T* result))

#define BLAS_ROTATIONS(T, C, S, Name, name) \
    BLAS_F(Name, name, (BLAS_HANDLE handle, BLAS_INT n, T* x, BLAS_INT incx, T* y, BLAS_INT incy, const C* c, const S* s))

#define BLAS_MATRIX_VECTOR(T, P, p)                                                                                       \
    BLAS_F(P##gemv, p##gemv, (BLAS_HANDLE handle, BLAS_OP trans, BLAS_INT m, BLAS_INT n, const T* alpha, const T* A, BLAS_INT lda, const T* x, BLAS_INT incx, const T* beta, T* y, BLAS_INT incy)) \
    BLAS_F(P##gemvBatched, p##gemv_batched, (BLAS_HANDLE handle, BLAS_OP trans, BLAS_INT m, BLAS_INT n, const T* alpha, const T* const A[], BLAS_INT lda, const T* const x[], BLAS_INT incx, const T* beta, T* const y[], BLAS_INT incy, BLAS_INT count)) \
    BLAS_F(P##gemvStridedBatched, p##gemv_strided_batched, (BLAS_HANDLE handle, BLAS_OP trans, BLAS_INT m, BLAS_INT n, const T* alpha, const T* A, BLAS_INT lda, BLAS_STRIDE strideA, const T* x, BLAS_INT incx, BLAS_STRIDE stridex, const T* beta, T* y, BLAS_INT incy, BLAS_STRIDE stridey, BLAS_INT count)) \
    BLAS_F(P##trsv, p##trsv, (BLAS_HANDLE handle, BLAS_FILL uplo, BLAS_OP trans, BLAS_DIAG diag, BLAS_INT n, const T* A, BLAS_INT lda, T* x, BLAS_INT incx))        \
    BLAS_F(P##trmv, p##trmv, (BLAS_HANDLE handle, BLAS_FILL uplo, BLAS_OP trans, BLAS_DIAG diag, BLAS_INT n, const T* A, BLAS_INT lda, T* x, BLAS_INT incx))        \
    BLAS_F(P##syr, p##syr, (BLAS_HANDLE handle, BLAS_FILL uplo, BLAS_INT n, const T* alpha, const T* x, BLAS_INT incx, T* A, BLAS_INT lda))

#define BLAS_OUTER(T, Name, name) \
    BLAS_F(Name, name, (BLAS_HANDLE handle, BLAS_INT m, BLAS_INT n, const T* alpha, const T* x, BLAS_INT incx, const T* y, BLAS_INT incy, T* A, BLAS_INT lda))

#define BLAS_SYMMETRIC_VECTOR(T, Name, name) \
    BLAS_F(Name, name, (BLAS_HANDLE handle, BLAS_FILL uplo, BLAS_INT n, const T* alpha, const T* A, BLAS_INT lda, const T* x, BLAS_INT incx, const T* beta, T* y, BLAS_INT incy))

#define BLAS_RANK_TWO(T, Name, name) \
    BLAS_F(Name, name, (BLAS_HANDLE handle, BLAS_FILL uplo, BLAS_INT n, const T* alpha, const T* x, BLAS_INT incx, const T* y, BLAS_INT incy, T* A, BLAS_INT lda))

#define BLAS_PRODUCTS(T, P, p)                                                                                            \
    BLAS_F(P##gemm, p##gemm, (BLAS_HANDLE handle, BLAS_OP transA, BLAS_OP transB, BLAS_INT m, BLAS_INT n, BLAS_INT k, const T* alpha, const T* A, BLAS_INT lda, const T* B, BLAS_INT ldb, const T* beta, T* C, BLAS_INT ldc)) \
    BLAS_F(P##gemmBatched, p##gemm_batched, (BLAS_HANDLE handle, BLAS_OP transA, BLAS_OP transB, BLAS_INT m, BLAS_INT n, BLAS_INT k, const T* alpha, const T* const A[], BLAS_INT lda, const T* const B[], BLAS_INT ldb, const T* beta, T* const C[], BLAS_INT ldc, BLAS_INT count)) \
    BLAS_F(P##gemmStridedBatched, p##gemm_strided_batched, (BLAS_HANDLE handle, BLAS_OP transA, BLAS_OP transB, BLAS_INT m, BLAS_INT n, BLAS_INT k, const T* alpha, const T* A, BLAS_INT lda, BLAS_STRIDE strideA, const T* B, BLAS_INT ldb, BLAS_STRIDE strideB, const T* beta, T* C, BLAS_INT ldc, BLAS_STRIDE strideC, BLAS_INT count))

#define BLAS_MATRICES(T, P, p)                                                                                            \
    BLAS_F(P##trsm, p##trsm, (BLAS_HANDLE handle, BLAS_SIDE side, BLAS_FILL uplo, BLAS_OP trans, BLAS_DIAG diag, BLAS_INT m, BLAS_INT n, const T* alpha, const T* A, BLAS_INT lda, T* B, BLAS_INT ldb)) \
    BLAS_F(P##trsmBatched, p##trsm_batched, (BLAS_HANDLE handle, BLAS_SIDE side, BLAS_FILL uplo, BLAS_OP trans, BLAS_DIAG diag, BLAS_INT m, BLAS_INT n, const T* alpha, const T* const A[], BLAS_INT lda, T* const B[], BLAS_INT ldb, BLAS_INT count)) \
    BLAS_F(P##trsmStridedBatched, p##trsm_strided_batched, (BLAS_HANDLE handle, BLAS_SIDE side, BLAS_FILL uplo, BLAS_OP trans, BLAS_DIAG diag, BLAS_INT m, BLAS_INT n, const T* alpha, const T* A, BLAS_INT lda, BLAS_STRIDE strideA, T* B, BLAS_INT ldb, BLAS_STRIDE strideB, BLAS_INT count)) \
    BLAS_F(P##trmm, p##trmm, (BLAS_HANDLE handle, BLAS_SIDE side, BLAS_FILL uplo, BLAS_OP trans, BLAS_DIAG diag, BLAS_INT m, BLAS_INT n, const T* alpha, const T* A, BLAS_INT lda, const T* B, BLAS_INT ldb, T* C, BLAS_INT ldc)) \
    BLAS_F(P##symm, p##symm, (BLAS_HANDLE handle, BLAS_SIDE side, BLAS_FILL uplo, BLAS_INT m, BLAS_INT n, const T* alpha, const T* A, BLAS_INT lda, const T* B, BLAS_INT ldb, const T* beta, T* C, BLAS_INT ldc)) \
    BLAS_F(P##syrk, p##syrk, (BLAS_HANDLE handle, BLAS_FILL uplo, BLAS_OP trans, BLAS_INT n, BLAS_INT k, const T* alpha, const T* A, BLAS_INT lda, const T* beta, T* C, BLAS_INT ldc)) \
    BLAS_F(P##syr2k, p##syr2k, (BLAS_HANDLE handle, BLAS_FILL uplo, BLAS_OP trans, BLAS_INT n, BLAS_INT k, const T* alpha, const T* A, BLAS_INT lda, const T* B, BLAS_INT ldb, const T* beta, T* C, BLAS_INT ldc)) \
    BLAS_F(P##geam, p##geam, (BLAS_HANDLE handle, BLAS_OP transA, BLAS_OP transB, BLAS_INT m, BLAS_INT n, const T* alpha, const T* A, BLAS_INT lda, const T* beta, const T* B, BLAS_INT ldb, T* C, BLAS_INT ldc)) \
    BLAS_F(P##dgmm, p##dgmm, (BLAS_HANDLE handle, BLAS_SIDE side, BLAS_INT m, BLAS_INT n, const T* A, BLAS_INT lda, const T* x, BLAS_INT incx, T* C, BLAS_INT ldc))

#define BLAS_HERMITIAN(T, R, P, p)                                                                                        \
    BLAS_F(P##hemm, p##hemm, (BLAS_HANDLE handle, BLAS_SIDE side, BLAS_FILL uplo, BLAS_INT m, BLAS_INT n, const T* alpha, const T* A, BLAS_INT lda, const T* B, BLAS_INT ldb, const T* beta, T* C, BLAS_INT ldc)) \
    BLAS_F(P##herk, p##herk, (BLAS_HANDLE handle, BLAS_FILL uplo, BLAS_OP trans, BLAS_INT n, BLAS_INT k, const R* alpha, const T* A, BLAS_INT lda, const R* beta, T* C, BLAS_INT ldc)) \
    BLAS_F(P##her2k, p##her2k, (BLAS_HANDLE handle, BLAS_FILL uplo, BLAS_OP trans, BLAS_INT n, BLAS_INT k, const T* alpha, const T* A, BLAS_INT lda, const T* B, BLAS_INT ldb, const R* beta, T* C, BLAS_INT ldc))

BLAS_VECTORS(float, S, s)
BLAS_VECTORS(double, D, d)
BLAS_VECTORS(BLAS_COMPLEX, C, c)
BLAS_VECTORS(BLAS_DOUBLE_COMPLEX, Z, z)
BLAS_NORMS(float, float, S, s)
BLAS_NORMS(double, double, D, d)
BLAS_NORMS(BLAS_COMPLEX, float, Sc, sc)
BLAS_NORMS(BLAS_DOUBLE_COMPLEX, double, Dz, dz)
BLAS_DOTS(BLAS_HALF, Hdot, hdot)
BLAS_DOTS(BLAS_BFLOAT, Bfdot, bfdot)
BLAS_DOTS(float, Sdot, sdot)
BLAS_DOTS(double, Ddot, ddot)
BLAS_DOTS(BLAS_COMPLEX, Cdotu, cdotu)
BLAS_DOTS(BLAS_COMPLEX, Cdotc, cdotc)
BLAS_DOTS(BLAS_DOUBLE_COMPLEX, Zdotu, zdotu)
BLAS_DOTS(BLAS_DOUBLE_COMPLEX, Zdotc, zdotc)
BLAS_F(Haxpy, haxpy, (BLAS_HANDLE handle, BLAS_INT n, const BLAS_HALF* alpha, const BLAS_HALF* x, BLAS_INT incx, BLAS_HALF* y, BLAS_INT incy))
BLAS_F(Csscal, csscal, (BLAS_HANDLE handle, BLAS_INT n, const float* alpha, BLAS_COMPLEX* x, BLAS_INT incx))
BLAS_F(Zdscal, zdscal, (BLAS_HANDLE handle, BLAS_INT n, const double* alpha, BLAS_DOUBLE_COMPLEX* x, BLAS_INT incx))
BLAS_ROTATIONS(float, float, float, Srot, srot)
BLAS_ROTATIONS(double, double, double, Drot, drot)
BLAS_ROTATIONS(BLAS_COMPLEX, float, BLAS_COMPLEX, Crot, crot)
BLAS_ROTATIONS(BLAS_COMPLEX, float, float, Csrot, csrot)
BLAS_ROTATIONS(BLAS_DOUBLE_COMPLEX, double, BLAS_DOUBLE_COMPLEX, Zrot, zrot)
BLAS_ROTATIONS(BLAS_DOUBLE_COMPLEX, double, double, Zdrot, zdrot)
BLAS_F(Srotg, srotg, (BLAS_HANDLE handle, float* a, float* b, float* c, float* s))
BLAS_F(Drotg, drotg, (BLAS_HANDLE handle, double* a, double* b, double* c, double* s))
BLAS_MATRIX_VECTOR(float, S, s)
BLAS_MATRIX_VECTOR(double, D, d)
BLAS_MATRIX_VECTOR(BLAS_COMPLEX, C, c)
BLAS_MATRIX_VECTOR(BLAS_DOUBLE_COMPLEX, Z, z)
BLAS_OUTER(float, Sger, sger)
BLAS_OUTER(double, Dger, dger)
BLAS_OUTER(BLAS_COMPLEX, Cgeru, cgeru)
BLAS_OUTER(BLAS_COMPLEX, Cgerc, cgerc)
BLAS_OUTER(BLAS_DOUBLE_COMPLEX, Zgeru, zgeru)
BLAS_OUTER(BLAS_DOUBLE_COMPLEX, Zgerc, zgerc)
BLAS_SYMMETRIC_VECTOR(float, Ssymv, ssymv)
BLAS_SYMMETRIC_VECTOR(double, Dsymv, dsymv)
BLAS_SYMMETRIC_VECTOR(BLAS_COMPLEX, Csymv, csymv)
BLAS_SYMMETRIC_VECTOR(BLAS_DOUBLE_COMPLEX, Zsymv, zsymv)
BLAS_SYMMETRIC_VECTOR(BLAS_COMPLEX, Chemv, chemv)
BLAS_SYMMETRIC_VECTOR(BLAS_DOUBLE_COMPLEX, Zhemv, zhemv)
BLAS_RANK_TWO(float, Ssyr2, ssyr2)
BLAS_RANK_TWO(double, Dsyr2, dsyr2)
BLAS_RANK_TWO(BLAS_COMPLEX, Csyr2, csyr2)
BLAS_RANK_TWO(BLAS_DOUBLE_COMPLEX, Zsyr2, zsyr2)
BLAS_RANK_TWO(BLAS_COMPLEX, Cher2, cher2)
BLAS_RANK_TWO(BLAS_DOUBLE_COMPLEX, Zher2, zher2)
BLAS_F(Cher, cher, (BLAS_HANDLE handle, BLAS_FILL uplo, BLAS_INT n, const float* alpha, const BLAS_COMPLEX* x, BLAS_INT incx, BLAS_COMPLEX* A, BLAS_INT lda))
BLAS_F(Zher, zher, (BLAS_HANDLE handle, BLAS_FILL uplo, BLAS_INT n, const double* alpha, const BLAS_DOUBLE_COMPLEX* x, BLAS_INT incx, BLAS_DOUBLE_COMPLEX* A, BLAS_INT lda))
BLAS_PRODUCTS(BLAS_HALF, H, h)
BLAS_PRODUCTS(float, S, s)
BLAS_PRODUCTS(double, D, d)
BLAS_PRODUCTS(BLAS_COMPLEX, C, c)
BLAS_PRODUCTS(BLAS_DOUBLE_COMPLEX, Z, z)
BLAS_MATRICES(float, S, s)
BLAS_MATRICES(double, D, d)
BLAS_MATRICES(BLAS_COMPLEX, C, c)
BLAS_MATRICES(BLAS_DOUBLE_COMPLEX, Z, z)
BLAS_HERMITIAN(BLAS_COMPLEX, float, C, c)
BLAS_HERMITIAN(BLAS_DOUBLE_COMPLEX, double, Z, z)

#undef BLAS_VECTORS
#undef BLAS_NORMS
#undef BLAS_DOTS
#undef BLAS_ROTATIONS
#undef BLAS_MATRIX_VECTOR
#undef BLAS_OUTER
#undef BLAS_SYMMETRIC_VECTOR
#undef BLAS_RANK_TWO
#undef BLAS_PRODUCTS
#undef BLAS_MATRICES
#undef BLAS_HERMITIAN
