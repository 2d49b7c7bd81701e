// Half precision and bfloat16: arithmetic, packed pairs, conversions, comparisons, a dot product.
#include "check.hpp"

#include <hip/hip_fp16.h>

__global__ void scalar(const float* a, const float* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    const _Float16 x = static_cast<_Float16>(a[i]), y = static_cast<_Float16>(b[i]);
    out[i] = static_cast<float>(x + y);
    out[n + i] = static_cast<float>(x * y);
    out[2 * n + i] = static_cast<float>(x - y);
    out[3 * n + i] = static_cast<float>(x / y);
    out[4 * n + i] = x < y ? 1.0F : 0.0F;
    out[5 * n + i] = static_cast<float>(static_cast<_Float16>(static_cast<int>(a[i] * 10)));
    out[6 * n + i] = static_cast<float>(static_cast<short>(x));
    out[7 * n + i] = static_cast<float>(x) * static_cast<float>(y) + 1.0F;
}
__global__ void packed(const __half2* a, const __half2* b, __half2* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    out[i] = __hadd2(__hmul2(a[i], b[i]), a[i]);
    out[n + i] = __hfma2(a[i], b[i], __float2half2_rn(0.5F));
}
__global__ void bfloat(const float* a, unsigned short* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    unsigned bits = __float_as_uint(a[i]);
    bits += 0x7fffU + ((bits >> 16) & 1U);
    out[i] = static_cast<unsigned short>(bits >> 16);
}
typedef _Float16 h2 __attribute__((ext_vector_type(2)));
__global__ void dots(const h2* a, const h2* b, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = __builtin_amdgcn_fdot2(a[i], b[i], 0.25F, false);
}

int main() {
    const int n = 400;
    std::vector<float> a(n), b(n);
    for (int i = 0; i < n; ++i) {
        a[static_cast<std::size_t>(i)] = static_cast<float>((i - 200) * 0.731);
        b[static_cast<std::size_t>(i)] = static_cast<float>(((i * 71) % 401 - 200) * 0.0137 + 0.003);
    }
    Device<float> da(a), db(b), out(8 * static_cast<std::size_t>(n));
    scalar<<<2, 256>>>(da.data, db.data, out.data, n);
    const auto o = out.read();
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        const _Float16 x = static_cast<_Float16>(a[i]), y = static_cast<_Float16>(b[i]);
        const float fx = static_cast<float>(x), fy = static_cast<float>(y);
        expect("add", i, o[i], static_cast<float>(static_cast<_Float16>(fx + fy)));
        expect("mul", i, o[n + i], static_cast<float>(static_cast<_Float16>(fx * fy)));
        expect("sub", i, o[2 * n + i], static_cast<float>(static_cast<_Float16>(fx - fy)));
        expect("div", i, o[3 * n + i], static_cast<float>(static_cast<_Float16>(fx / fy)), 1e-3);
        expect("less", i, o[4 * n + i], fx < fy ? 1.0F : 0.0F);
        expect("from int", i, o[5 * n + i], static_cast<float>(static_cast<_Float16>(static_cast<int>(a[i] * 10))));
        expect("to short", i, o[6 * n + i], static_cast<float>(static_cast<short>(fx)));
        expect("mixed", i, o[7 * n + i], fx * fy + 1.0F, 1e-6);
    }
    std::vector<__half2> pa(n), pb(n);
    std::vector<h2> va(n), vb(n);
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        pa[i] = __floats2half2_rn(a[i] * 0.1F, b[i]);
        pb[i] = __floats2half2_rn(b[i], a[i] * 0.1F);
        va[i] = h2{static_cast<_Float16>(a[i]), static_cast<_Float16>(b[i])};
        vb[i] = h2{static_cast<_Float16>(b[i]), static_cast<_Float16>(1.5F)};
    }
    Device<__half2> dpa(pa), dpb(pb), po(2 * static_cast<std::size_t>(n));
    packed<<<2, 256>>>(dpa.data, dpb.data, po.data, n);
    const auto p = po.read();
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        const float2 x = __half22float2(pa[i]), y = __half22float2(pb[i]), got = __half22float2(p[i]), fused = __half22float2(p[n + i]);
        expect("packed lo", i, got.x, x.x * y.x + x.x, 5e-3);  // rounded twice without optimisation
        expect("packed hi", i, got.y, x.y * y.y + x.y, 5e-3);
        expect("fma lo", i, fused.x, static_cast<float>(static_cast<_Float16>(x.x * y.x + 0.5F)), 1e-3);
        expect("fma hi", i, fused.y, static_cast<float>(static_cast<_Float16>(x.y * y.y + 0.5F)), 1e-3);
    }
    Device<h2> dva(va), dvb(vb);
    Device<float> dot(n);
    dots<<<2, 256>>>(dva.data, dvb.data, dot.data, n);
    const auto d = dot.read();
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        const float want = static_cast<float>(va[i].x) * static_cast<float>(vb[i].x) + static_cast<float>(va[i].y) * static_cast<float>(vb[i].y) + 0.25F;
        expect("dot", i, d[i], want, 1e-6);
    }
    Device<unsigned short> bf(n);
    bfloat<<<2, 256>>>(da.data, bf.data, n);
    const auto h = bf.read();
    for (std::size_t i = 0; i < static_cast<std::size_t>(n); ++i) {
        const float back = __builtin_bit_cast(float, static_cast<unsigned>(h[i]) << 16);
        expect("bfloat", i, back, a[i], 0.004);
    }
    return verdict();
}
