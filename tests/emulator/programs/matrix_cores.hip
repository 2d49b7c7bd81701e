// Matrix core intrinsics of every input type against a plain matrix product.
#include "check.hpp"

typedef float f4 __attribute__((ext_vector_type(4)));
typedef float f16v __attribute__((ext_vector_type(16)));
typedef float f2 __attribute__((ext_vector_type(2)));
typedef double d4 __attribute__((ext_vector_type(4)));
typedef int i4 __attribute__((ext_vector_type(4)));
typedef _Float16 h4 __attribute__((ext_vector_type(4)));
typedef short s4 __attribute__((ext_vector_type(4)));

// 16x16x16 halves: lane = row + 16 * (k / 4), element k % 4; results: lane = column + 16 * (row / 4), element row % 4.
__global__ void halves(const float* a, const float* b, float* d) {
    const int lane = threadIdx.x, r = lane % 16, g = lane / 16;
    h4 x, y;
    for (int e = 0; e < 4; ++e) {
        x[e] = static_cast<_Float16>(a[r * 16 + g * 4 + e]);
        y[e] = static_cast<_Float16>(b[(g * 4 + e) * 16 + r]);
    }
    f4 c = {1, 1, 1, 1};
    c = __builtin_amdgcn_mfma_f32_16x16x16f16(x, y, c, 0, 0, 0);
    for (int e = 0; e < 4; ++e) d[(g * 4 + e) * 16 + r] = c[e];
}
__global__ void bfloats(const float* a, const float* b, float* d) {
    const int lane = threadIdx.x, r = lane % 16, g = lane / 16;
    s4 x, y;
    for (int e = 0; e < 4; ++e) {
        x[e] = static_cast<short>(__float_as_uint(a[r * 16 + g * 4 + e]) >> 16);
        y[e] = static_cast<short>(__float_as_uint(b[(g * 4 + e) * 16 + r]) >> 16);
    }
    f4 c = {1, 1, 1, 1};
    c = __builtin_amdgcn_mfma_f32_16x16x16bf16_1k(x, y, c, 0, 0, 0);
    for (int e = 0; e < 4; ++e) d[(g * 4 + e) * 16 + r] = c[e];
}
__global__ void singles(const float* a, const float* b, float* d) {
    const int lane = threadIdx.x, r = lane % 16, g = lane / 16;
    f4 c = {1, 1, 1, 1};
    for (int k = 0; k < 16; k += 4) c = __builtin_amdgcn_mfma_f32_16x16x4f32(a[r * 16 + k + g], b[(k + g) * 16 + r], c, 0, 0, 0);
    for (int e = 0; e < 4; ++e) d[(g * 4 + e) * 16 + r] = c[e];
}
__global__ void doubles(const float* a, const float* b, float* d) {
    const int lane = threadIdx.x, r = lane % 16, g = lane / 16;
    d4 c = {1, 1, 1, 1};
    for (int k = 0; k < 16; k += 4)
        c = __builtin_amdgcn_mfma_f64_16x16x4f64(static_cast<double>(a[r * 16 + k + g]), static_cast<double>(b[(k + g) * 16 + r]), c, 0, 0, 0);
    for (int e = 0; e < 4; ++e) d[(e * 4 + g) * 16 + r] = static_cast<float>(c[e]);
}
// 32x32x2: lane = row + 32 * k; results: lane = column + 32 * ((row / 4) % 2), element row % 4 + 4 * (row / 8).
__global__ void large(const float* a, const float* b, float* d) {
    const int lane = threadIdx.x, r = lane % 32, g = lane / 32;
    f16v c;
    for (int e = 0; e < 16; ++e) c[e] = 1;
    for (int k = 0; k < 16; k += 2) c = __builtin_amdgcn_mfma_f32_32x32x2f32(a[r * 16 + k + g], b[(k + g) * 32 + r], c, 0, 0, 0);
    for (int e = 0; e < 16; ++e) d[(e / 4 * 8 + g * 4 + e % 4) * 32 + r] = c[e];
}
__global__ void bytes(const float* a, const float* b, float* d) {
    const int lane = threadIdx.x, r = lane % 16, g = lane / 16;
    unsigned long x = 0, y = 0;
    for (int e = 0; e < 8; ++e) {
        const int k = g * 8 + e;
        const auto byte = [](float v) { return static_cast<unsigned long>(static_cast<unsigned char>(static_cast<signed char>(v))); };
        if (k < 16) {
            x |= byte(a[r * 16 + k]) << (8 * e);
            y |= byte(b[k * 16 + r]) << (8 * e);
        }
    }
    i4 c = {1, 1, 1, 1};
    c = __builtin_amdgcn_mfma_i32_16x16x32_i8(static_cast<long>(x), static_cast<long>(y), c, 0, 0, 0);
    for (int e = 0; e < 4; ++e) d[(g * 4 + e) * 16 + r] = static_cast<float>(c[e]);
}
__global__ void quads(const float* a, const float* b, float* d) {  // sixteen 4x4x1 products
    const int lane = threadIdx.x, r = lane % 4, block = lane / 4;
    f4 c = {0, 0, 0, 0};
    c = __builtin_amdgcn_mfma_f32_4x4x1f32(a[block * 4 + r], b[block * 4 + r], c, 0, 0, 0);
    for (int e = 0; e < 4; ++e) d[block * 16 + e * 4 + r] = c[e];
}
__global__ void reduced(const float* a, const float* b, float* d) {
    const int lane = threadIdx.x, r = lane % 16, g = lane / 16;
    f4 c = {1, 1, 1, 1};
    for (int k = 0; k < 16; k += 8) {
        const f2 x = {a[r * 16 + k + g * 2], a[r * 16 + k + g * 2 + 1]}, y = {b[(k + g * 2) * 16 + r], b[(k + g * 2 + 1) * 16 + r]};
        c = __builtin_amdgcn_mfma_f32_16x16x8_xf32(x, y, c, 0, 0, 0);
    }
    for (int e = 0; e < 4; ++e) d[(g * 4 + e) * 16 + r] = c[e];
}

using Kernel = void (*)(const float*, const float*, float*);
void check(const char* name, Kernel kernel, int size) {
    std::vector<float> a(static_cast<std::size_t>(size) * 16), b(16 * static_cast<std::size_t>(size));
    for (std::size_t i = 0; i < a.size(); ++i) a[i] = static_cast<float>(static_cast<int>(i * 7 % 23) - 11);
    for (std::size_t i = 0; i < b.size(); ++i) b[i] = static_cast<float>(static_cast<int>(i * 5 % 19) - 9);
    Device<float> da(a), db(b), d(static_cast<std::size_t>(size) * size);
    kernel<<<1, 64>>>(da.data, db.data, d.data);
    const auto got = d.read();
    for (int i = 0; i < size; ++i)
        for (int j = 0; j < size; ++j) {
            float want = 1;
            for (int k = 0; k < 16; ++k) want += a[static_cast<std::size_t>(i * 16 + k)] * b[static_cast<std::size_t>(k * size + j)];
            expect(name, static_cast<std::size_t>(i * size + j), got[static_cast<std::size_t>(i * size + j)], want);
        }
}
int main() {
    check("f16", halves, 16);
    check("bf16", bfloats, 16);
    check("f32", singles, 16);
    check("f64", doubles, 16);
    check("f32 32x32", large, 32);
    check("i8", bytes, 16);
    check("xf32", reduced, 16);
    std::vector<float> a(64), b(64);
    for (std::size_t i = 0; i < 64; ++i) {
        a[i] = static_cast<float>(i);
        b[i] = static_cast<float>(i % 5) - 2;
    }
    Device<float> da(a), db(b), d(256);
    quads<<<1, 64>>>(da.data, db.data, d.data);
    const auto got = d.read();
    for (std::size_t block = 0; block < 16; ++block)
        for (std::size_t i = 0; i < 4; ++i)
            for (std::size_t j = 0; j < 4; ++j) expect("4x4", block * 16 + i * 4 + j, got[block * 16 + i * 4 + j], a[block * 4 + i] * b[block * 4 + j]);
    return verdict();
}
