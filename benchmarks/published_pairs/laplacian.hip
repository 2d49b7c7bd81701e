// The second-order Laplacian of a grid of 512 x 512 x 512 doubles, a thread for each point or for some of a column.
#include "launches.hpp"

struct Grid {
    int nx, ny, nz;
    double x2, y2, z2, centre;
};

template <bool past_caches>
__device__ void put(double* to, double value) {
    if (past_caches) __builtin_nontemporal_store(value, to);
    else *to = value;
}

template <bool past_caches>
__global__ void points(double* f, const double* u, Grid g) {
    const int i = threadIdx.x + blockIdx.x * blockDim.x, j = blockIdx.y, k = blockIdx.z;
    if (i == 0 || i >= g.nx - 1 || j == 0 || j >= g.ny - 1 || k == 0 || k >= g.nz - 1) return;
    const int slice = g.nx * g.ny;
    const size_t at = i + g.nx * j + static_cast<size_t>(slice) * k;
    put<past_caches>(f + at, u[at] * g.centre + (u[at - 1] + u[at + 1]) * g.x2 + (u[at - g.nx] + u[at + g.nx]) * g.y2 +
                                 (u[at - slice] + u[at + slice]) * g.z2);
}

/// `rows` points of a column, row by row: what lies in the column is read once and kept for the rows above and below; all are
/// stored at the end.
template <int rows>
__global__ void column(double* f, const double* u, Grid g) {
    const int i = threadIdx.x + blockIdx.x * blockDim.x, j = rows * blockIdx.y, k = blockIdx.z;
    if (i == 0 || i >= g.nx - 1 || k == 0 || k >= g.nz - 1) return;
    const int slice = g.nx * g.ny;
    const size_t at = i + g.nx * j + static_cast<size_t>(slice) * k;
    double sums[rows] = {};
    for (int n = 0; n < rows; ++n) {
        const double* p = u + at + n * g.nx;
        const double middle = p[0];
        sums[n] += middle * g.centre + (p[-1] + p[1]) * g.x2;
        if (n == 0) sums[n] += p[-g.nx] * g.y2;
        if (n > 0) sums[n - 1] += middle * g.y2;
        if (n < rows - 1) sums[n + 1] += middle * g.y2;
        if (n == rows - 1) sums[n] += p[g.nx] * g.y2;
        sums[n] += (p[-slice] + p[slice]) * g.z2;
    }
    for (int n = 0; n < rows; ++n)
        if (j + n > 0 && j + n < g.ny - 1) f[at + n * g.nx] = sums[n];
}

/// The same, read in the order of addresses, each once.
template <int rows, bool past_caches>
__device__ void in_order_of_addresses(double* f, const double* u, const Grid& g) {
    const int i = threadIdx.x + blockIdx.x * blockDim.x, j = rows * blockIdx.y, k = blockIdx.z;
    if (i == 0 || i >= g.nx - 1 || k == 0 || k >= g.nz - 1) return;
    const int slice = g.nx * g.ny;
    const size_t at = i + g.nx * j + static_cast<size_t>(slice) * k;
    double sums[rows] = {};
    for (int n = 0; n < rows; ++n) sums[n] += u[at - slice + n * g.nx] * g.z2;
    sums[0] += j > 0 ? u[at - g.nx] * g.y2 : 0;
    for (int n = 0; n < rows; ++n) {
        sums[n] += u[at - 1 + n * g.nx] * g.x2;
        const double middle = u[at + n * g.nx];
        sums[n] += middle * g.centre;
        sums[n] += u[at + 1 + n * g.nx] * g.x2;
        if (n > 0) sums[n - 1] += middle * g.y2;
        if (n < rows - 1) sums[n + 1] += middle * g.y2;
    }
    sums[rows - 1] += j < g.ny - rows ? u[at + rows * g.nx] * g.y2 : 0;
    for (int n = 0; n < rows; ++n) sums[n] += u[at + slice + n * g.nx] * g.z2;
    for (int n = 0; n < rows; ++n)
        if (n + j > 0 && n + j < g.ny - 1) put<past_caches>(f + at + n * g.nx, sums[n]);
}

template <int rows>
__global__ void ordered(double* f, const double* u, Grid g) { in_order_of_addresses<rows, false>(f, u, g); }

template <int rows, bool past_caches>
__launch_bounds__(256) __global__ void bounded(double* f, const double* u, Grid g) {
    in_order_of_addresses<rows, past_caches>(f, u, g);
}

constexpr int planes = 512;

int main() {
    const Grid g{512, 512, planes, 1, 2, 3, -12};
    const size_t count = size_t{512} * 512 * planes;
    auto* f = device_array<double>(count);
    const auto* u = device_array<double>(count);
    const auto grid = [&](int rows) { return dim3(2, 512 / rows, planes); };
    launch("points", 1, points<false>, grid(1), 256, f, u, g);
    launch("points_nontemporal", 1, points<true>, grid(1), 256, f, u, g);
    launch("column_2", 1, column<2>, grid(2), 256, f, u, g);
    launch("column_4", 1, column<4>, grid(4), 256, f, u, g);
    launch("column_8", 1, column<8>, grid(8), 256, f, u, g);
    launch("column_16", 1, column<16>, grid(16), 256, f, u, g);
    launch("ordered_1", 1, ordered<1>, grid(1), 256, f, u, g);
    launch("ordered_2", 1, ordered<2>, grid(2), 256, f, u, g);
    launch("ordered_4", 1, ordered<4>, grid(4), 256, f, u, g);
    launch("ordered_8", 1, ordered<8>, grid(8), 256, f, u, g);
    launch("ordered_16", 1, ordered<16>, grid(16), 256, f, u, g);
    launch("bounded_8", 1, bounded<8, false>, grid(8), 256, f, u, g);
    launch("bounded_16", 1, bounded<16, false>, grid(16), 256, f, u, g);
    launch("bounded_8_nontemporal", 1, bounded<8, true>, grid(8), 256, f, u, g);
}
