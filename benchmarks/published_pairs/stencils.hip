// Second derivatives of eighth order along x, y and z on a grid of 512 x 512 x 512 points in single precision with a border of 4.
// Rows begin at any address or at multiples of 256 bytes.
#include "launches.hpp"

constexpr int kBorder = 4, kPoints = 512, kPlanes = 512;

struct Weights {
    float at[2 * kBorder + 1];
};

/// Distances, in elements, between neighbouring rows and planes.
struct Layout {
    int row, plane;
};

template <int width>
using Vector = float __attribute__((__vector_size__(width * sizeof(float))));

enum class Along { x, y, z };

template <Along along, int rows>
__launch_bounds__(256 * (rows == 8 ? 2 : 1)) __global__ void derivative(float* __restrict__ out, const float* __restrict__ in, Layout layout,
                                                                        Weights weights) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * rows + threadIdx.y, z = blockIdx.z;
    const size_t at = x + static_cast<size_t>(layout.row) * y + static_cast<size_t>(layout.plane) * z;
    const int step = along == Along::x ? 1 : along == Along::y ? layout.row : layout.plane;
    float sum = 0;
    for (int r = -kBorder; r <= kBorder; ++r) sum += in[at + static_cast<long>(r) * step] * weights.at[r + kBorder];
    out[at] = sum;
}

/// A thread goes up through planes and keeps what the next ones need.
__launch_bounds__(256) __global__ void window(float* out, const float* in, Layout layout, Weights weights, int planes) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    size_t at = x + static_cast<size_t>(layout.row) * y + static_cast<size_t>(layout.plane) * planes * blockIdx.z;
    float held[2 * kBorder + 1];
    for (int r = 0; r < 2 * kBorder; ++r) held[r] = in[at + static_cast<long>(r - kBorder) * layout.plane];
    for (int k = 0; k < planes; ++k, at += layout.plane) {
        held[2 * kBorder] = in[at + kBorder * static_cast<size_t>(layout.plane)];
        float sum = 0;
        for (int r = 0; r <= 2 * kBorder; ++r) sum += held[r] * weights.at[r];
        out[at] = sum;
        for (int r = 0; r < 2 * kBorder; ++r) held[r] = held[r + 1];
    }
}

/// `width` points of a thread, read as vectors with their neighbours.
template <int width>
__launch_bounds__(256) __global__ void x_vectors(float* __restrict__ out, const float* __restrict__ in, Layout layout, Weights weights) {
    constexpr int beside = kBorder / width;
    const int x = width * (blockIdx.x * blockDim.x + threadIdx.x), y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
    const size_t at = x + static_cast<size_t>(layout.row) * y + static_cast<size_t>(layout.plane) * z;
    const auto* from = reinterpret_cast<const Vector<width>*>(in + at);
    Vector<width> near[2 * beside + 1], sum = {};
    for (int k = 0; k < 2 * beside + 1; ++k) near[k] = from[k - beside];
    for (int r = 0; r <= 2 * kBorder; ++r)
        for (int i = 0; i < width; ++i) sum[i] += near[(r + i) / width][(r + i) % width] * weights.at[r];
    *reinterpret_cast<Vector<width>*>(out + at) = sum;
}

template <int width>
__launch_bounds__(256) __global__ void y_vectors(float* __restrict__ out, const float* __restrict__ in, Layout layout, Weights weights) {
    const int x = width * (blockIdx.x * blockDim.x + threadIdx.x), y = blockIdx.y * blockDim.y + threadIdx.y, z = blockIdx.z;
    const size_t at = x + static_cast<size_t>(layout.row) * y + static_cast<size_t>(layout.plane) * z;
    const auto* from = reinterpret_cast<const Vector<width>*>(in + at - kBorder * static_cast<long>(layout.row));
    Vector<width> sum = {};
    for (int r = 0; r <= 2 * kBorder; ++r) sum += from[static_cast<size_t>(r) * (layout.row / width)] * weights.at[r];
    *reinterpret_cast<Vector<width>*>(out + at) = sum;
}

template <int width>
__launch_bounds__(256) __global__ void y_lds(float* __restrict__ out, const float* __restrict__ in, Layout layout, Weights weights) {
    __shared__ Vector<width> held[3 * kBorder][64];
    const int x = width * (blockIdx.x * blockDim.x + threadIdx.x), y = blockIdx.y * kBorder + threadIdx.y, z = blockIdx.z;
    const size_t at = x + static_cast<size_t>(layout.row) * y + static_cast<size_t>(layout.plane) * z;
    const auto* from = reinterpret_cast<const Vector<width>*>(in + at);
    for (int k = -1; k <= 1; ++k)
        held[threadIdx.y + (k + 1) * kBorder][threadIdx.x] = from[static_cast<long>(k) * kBorder * (layout.row / width)];
    __syncthreads();
    Vector<width> sum = {};
    for (int r = 0; r <= 2 * kBorder; ++r) sum += held[threadIdx.y + r][threadIdx.x] * weights.at[r];
    *reinterpret_cast<Vector<width>*>(out + at) = sum;
}

int main() {
    const Weights weights{{-1, 8, -20, 80, -150, 80, -20, 8, -1}};
    const size_t count = size_t{576} * (kPoints + 2 * kBorder) * (kPlanes + 2 * kBorder) + 64;
    auto* out = device_array<float>(count);
    const auto* in = device_array<float>(count);
    const auto first = [](Layout l, int offset) { return offset + kBorder * (l.row + static_cast<size_t>(l.plane)); };
    const int any_row = kPoints + 2 * kBorder, row = 576;
    const Layout any{any_row, any_row * any_row}, even{row, row * any_row};
    const size_t a = first(any, kBorder), e = first(even, 64);
    const auto grid = [](int x, int y, int z) { return dim3(kPoints / x, kPoints / y, kPlanes / z); };
    launch("x_any", 1, derivative<Along::x, 1>, grid(256, 1, 1), 256, out + a, in + a, any, weights);
    launch("x_even", 1, derivative<Along::x, 1>, grid(256, 1, 1), 256, out + e, in + e, even, weights);
    launch("y_any", 1, derivative<Along::y, 4>, grid(64, 4, 1), dim3(64, 4), out + a, in + a, any, weights);
    launch("y_even", 1, derivative<Along::y, 4>, grid(64, 4, 1), dim3(64, 4), out + e, in + e, even, weights);
    launch("z_any", 1, derivative<Along::z, 8>, grid(64, 8, 1), dim3(64, 8), out + a, in + a, any, weights);
    launch("z_even", 1, derivative<Along::z, 8>, grid(64, 8, 1), dim3(64, 8), out + e, in + e, even, weights);
    launch("z_window", 1, window, grid(64, 4, 32), dim3(64, 4), out + e, in + e, even, weights, 32);
    launch("x_vectors_1", 1, x_vectors<1>, grid(64, 4, 1), dim3(64, 4), out + e, in + e, even, weights);
    launch("x_vectors_2", 1, x_vectors<2>, grid(128, 4, 1), dim3(64, 4), out + e, in + e, even, weights);
    launch("x_vectors_4", 1, x_vectors<4>, grid(256, 4, 1), dim3(64, 4), out + e, in + e, even, weights);
    launch("y_vectors_1", 1, y_vectors<1>, grid(64, 4, 1), dim3(64, 4), out + e, in + e, even, weights);
    launch("y_vectors_2", 1, y_vectors<2>, grid(128, 4, 1), dim3(64, 4), out + e, in + e, even, weights);
    launch("y_vectors_4", 1, y_vectors<4>, grid(256, 4, 1), dim3(64, 4), out + e, in + e, even, weights);
    launch("y_lds_4", 1, y_lds<4>, grid(256, 4, 1), dim3(64, 4), out + e, in + e, even, weights);
}
