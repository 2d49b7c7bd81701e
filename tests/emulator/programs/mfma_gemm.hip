// Tiled matrix products on the matrix cores with larger shapes: f16, bf16, i8 and f64, through LDS, odd tile counts.
#include "check.hpp"

typedef float f4 __attribute__((ext_vector_type(4)));
typedef float f16v __attribute__((ext_vector_type(16)));
typedef double d4 __attribute__((ext_vector_type(4)));
typedef int i16v __attribute__((ext_vector_type(16)));
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
typedef short s4 __attribute__((ext_vector_type(4)));

// 32x32x8: lane = row + 32 * (k / 4), element k % 4; result element e: row = e / 4 * 8 + (lane / 32) * 4 + e % 4.
template <class Step>
__device__ void tile32(float* c, int n, int depth, Step step) {
    const int lane = threadIdx.x, r = lane % 32, g = lane / 32;
    f16v sum = {};
    for (int k = 0; k < depth; k += 8) sum = step(blockIdx.y * 32 + r, blockIdx.x * 32 + r, k + g * 4, sum);
    for (int e = 0; e < 16; ++e) c[(blockIdx.y * 32 + e / 4 * 8 + g * 4 + e % 4) * n + blockIdx.x * 32 + r] = sum[e];
}
__global__ void halves(const int* a, const int* b, float* c, int n, int depth) {
    tile32(c, n, depth, [=](int row, int column, int k, f16v sum) {
        h4 x, y;
        for (int e = 0; e < 4; ++e) x[e] = static_cast<_Float16>(a[row * depth + k + e]), y[e] = static_cast<_Float16>(b[(k + e) * n + column]);
        return __builtin_amdgcn_mfma_f32_32x32x8f16(x, y, sum, 0, 0, 0);
    });
}
__device__ short bfloat(int v) { return static_cast<short>(__float_as_uint(static_cast<float>(v)) >> 16); }
__global__ void bfloats(const int* a, const int* b, float* c, int n, int depth) {
    tile32(c, n, depth, [=](int row, int column, int k, f16v sum) {
        s4 x, y;
        for (int e = 0; e < 4; ++e) x[e] = bfloat(a[row * depth + k + e]), y[e] = bfloat(b[(k + e) * n + column]);
        return __builtin_amdgcn_mfma_f32_32x32x8bf16_1k(x, y, sum, 0, 0, 0);
    });
}
// 32x32x16 bytes: eight consecutive k for each lane.
__global__ void bytes(const int* a, const int* b, float* c, int n, int depth) {
    const int lane = threadIdx.x, r = lane % 32, g = lane / 32;
    i16v sum = {};
    for (int k = 0; k < depth; k += 16) {
        unsigned long x = 0, y = 0;
        for (int e = 0; e < 8; ++e) {
            x |= static_cast<unsigned long>(a[(blockIdx.y * 32 + r) * depth + k + g * 8 + e] & 255) << (8 * e);
            y |= static_cast<unsigned long>(b[(k + g * 8 + e) * n + blockIdx.x * 32 + r] & 255) << (8 * e);
        }
        sum = __builtin_amdgcn_mfma_i32_32x32x16_i8(static_cast<long>(x), static_cast<long>(y), sum, 0, 0, 0);
    }
    for (int e = 0; e < 16; ++e) c[(blockIdx.y * 32 + e / 4 * 8 + g * 4 + e % 4) * n + blockIdx.x * 32 + r] = static_cast<float>(sum[e]);
}
// Four waves share LDS tiles; each computes a 16x16 part in doubles.
__global__ void doubles(const int* a, const int* b, float* c, int n, int depth) {
    __shared__ double left[32][17], right[16][33];
    const int t = threadIdx.x, lane = t % 64, wave = t / 64, r = lane % 16, g = lane / 16, wy = wave / 2 * 16, wx = wave % 2 * 16;
    d4 sum = {};
    for (int k = 0; k < depth; k += 16) {
        for (int i = t; i < 512; i += 256) {
            left[i / 16][i % 16] = a[(blockIdx.y * 32 + i / 16) * depth + k + i % 16];
            right[i / 32][i % 32] = b[(k + i / 32) * n + blockIdx.x * 32 + i % 32];
        }
        __syncthreads();
        for (int s = 0; s < 16; s += 4) sum = __builtin_amdgcn_mfma_f64_16x16x4f64(left[wy + r][s + g], right[s + g][wx + r], sum, 0, 0, 0);
        __syncthreads();
    }
    for (int e = 0; e < 4; ++e) c[(blockIdx.y * 32 + wy + e * 4 + g) * n + blockIdx.x * 32 + wx + r] = static_cast<float>(sum[e]);
}
int main() {
    const int m = 96, n = 64, depth = 48;
    const auto a = generate(m * depth, [](std::size_t i) { return static_cast<int>(mixed(i) % 15) - 7; });
    const auto b = generate(depth * n, [](std::size_t i) { return static_cast<int>(mixed(i + 99999) % 13) - 6; });
    Device<int> da(a), db(b);
    std::vector<float> want(m * n);
    for (int y = 0; y < m; ++y)
        for (int x = 0; x < n; ++x) {
            int sum = 0;
            for (int k = 0; k < depth; ++k) sum += a[y * depth + k] * b[k * n + x];
            want[y * n + x] = static_cast<float>(sum);
        }
    const auto check = [&](const char* name, auto kernel, int threads) {
        Device<float> c(m * n);
        kernel<<<dim3(n / 32, m / 32), threads>>>(da.data, db.data, c.data, n, depth);
        expect_all(name, c.read(), [&](std::size_t i) { return want[i]; });
    };
    check("f16", halves, 64);
    check("bf16", bfloats, 64);
    check("i8", bytes, 64);
    check("f64", doubles, 256);
    return verdict();
}
