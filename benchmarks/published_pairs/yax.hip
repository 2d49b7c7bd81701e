// The product y^T A x in double precision with a row (or a column) of A for each thread. On the hardware A was square; here it has as
// many rows and the same distance between them, and the sums are shorter: what is compared are times per step. One lane of a wave adds its
// sums up to the result: with an atomic of each lane, as published, the end of a short sum would count for more than it did.
#include "launches.hpp"

constexpr int kShorter = 32;  // than published

__device__ void add_up(double sum, double* result) {
    for (int distance = 32; distance > 0; distance /= 2) sum += __shfl_down(sum, distance);
    if (threadIdx.x == 0) unsafeAtomicAdd(result, sum);
}

__global__ void rows(const double* y, const double* a, const double* x, int n, int steps, int pitch, double* result) {
    double sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        double row = 0;
        for (int j = 0; j < steps; ++j) row += a[static_cast<long>(i) * pitch + j] * x[j];
        sum += y[i] * row;
    }
    add_up(sum, result);
}

__global__ void columns(const double* y, const double* a, const double* x, int n, int steps, int pitch, double* result) {
    double sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        double column = 0;
        for (int j = 0; j < steps; ++j) column += a[static_cast<long>(j) * pitch + i] * x[j];
        sum += y[i] * column;
    }
    add_up(sum, result);
}

/// A workgroup has room for the first elements of x in LDS; of shorter sums it keeps as large a part there.
template <int room>
__global__ void rows_lds(const double* y, const double* a, const double* x, int n, int steps, int pitch, double* result) {
    constexpr int kept = room / kShorter;
    __shared__ double first[room];
    for (int j = threadIdx.x; j < kept; j += blockDim.x) first[j] = x[j];
    __syncthreads();
    double sum = 0;
    for (int i = blockIdx.x * blockDim.x + threadIdx.x; i < n; i += gridDim.x * blockDim.x) {
        double row = 0;
        for (int j = 0; j < steps; ++j) row += a[static_cast<long>(i) * pitch + j] * (j < kept ? first[j] : x[j]);
        sum += y[i] * row;
    }
    add_up(sum, result);
}

/// A workgroup takes a row.
__global__ void row_of_workgroup(const double* y, const double* a, const double* x, int n, int steps, int pitch, double* result) {
    __shared__ double sum;
    if (threadIdx.x == 0) sum = 0;
    for (int i = blockIdx.x; i < n; i += gridDim.x) {
        double part = 0;
        for (int j = threadIdx.x; j < steps; j += blockDim.x) part += a[static_cast<long>(i) * pitch + j] * x[j];
        unsafeAtomicAdd(&sum, part);
        if (threadIdx.x == 0) sum *= y[i];
    }
    if (threadIdx.x == 0) unsafeAtomicAdd(result, sum);
}

int main() {
    const int n = 1 << 15, large = 1 << 16, steps = n / kShorter;
    const auto* y = device_array<double>(large);
    const auto* x = device_array<double>(large);
    const auto* a = device_array<double>(size_t{large} * large);
    auto* result = device_array<double>(1);
    launch("rows_4", 64, rows, 4, 64, y, a, x, n, 64, n, result);
    launch("rows", steps, rows, 2048, 64, y, a, x, n, steps, n, result);
    launch("columns", steps, columns, 2048, 64, y, a, x, n, steps, n, result);
    launch("rows_large", steps / 2, rows, 2048, 64, y, a, x, large, steps / 2, large, result);
    launch("columns_large", steps / 2, columns, 2048, 64, y, a, x, large, steps / 2, large, result);
    launch("rows_lds_all", steps, rows_lds<8192>, 2048, 64, y, a, x, n, steps, n, result);
    launch("rows_lds_little", steps, rows_lds<256>, 2048, 64, y, a, x, n, steps, n, result);
    launch("row_of_workgroup", 2048, row_of_workgroup, 2048, 64, y, a, x, 2048, n, n, result);  // a sixteenth of the rows
}
