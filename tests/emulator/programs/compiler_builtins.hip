// What kernels call of the compiler's own functions (__builtin_amdgcn_*): lane exchange, bytes, dot products, raw buffers, MFMA.
#include "check.hpp"

constexpr int kResults = 20;
typedef float Float4 __attribute__((ext_vector_type(4)));

__global__ void run(const int* in, int* out) {
    const int i = threadIdx.x, x = in[i], y = in[(i + 1) % 64];
    int* next = out + i;
    const auto put = [&](int value) {
        *next = value;
        next += 64;
    };
    put(__builtin_amdgcn_ds_bpermute((i * 7 & 63) * 4, x));
    put(__builtin_amdgcn_ds_permute((i * 5 & 63) * 4, x));
    put(__builtin_amdgcn_readlane(x, 13));
    put(__builtin_amdgcn_ds_swizzle(x, 0x041f));
    put(__builtin_amdgcn_update_dpp(-1, x, 0x111, 0xf, 0xf, false));
    put(__builtin_amdgcn_mov_dpp(x, 0xb1, 0xf, 0xf, true));
    put(static_cast<int>(__builtin_amdgcn_mbcnt_hi(~0U, __builtin_amdgcn_mbcnt_lo(~0U, 0))));
    put(static_cast<int>(__builtin_amdgcn_perm(x, y, 0x07020500)));
    put(static_cast<int>(__builtin_amdgcn_ubfe(x, 5, 9)));
    put(__builtin_amdgcn_sbfe(x, 5, 9));
    put(static_cast<int>(__builtin_amdgcn_alignbit(x, y, i & 31)));
    put(static_cast<int>(__builtin_amdgcn_sad_u8(x, y, 5)));
    put(__builtin_amdgcn_sdot4(x, y, 7, false));
    put(static_cast<int>(__builtin_amdgcn_udot4(x, y, 7, false)));
    __builtin_amdgcn_sched_barrier(0);
    __builtin_amdgcn_s_setprio(1);
    put(static_cast<int>(__builtin_amdgcn_grid_size_x()));
    unsigned mode;  // rounding to nearest, denormals of all sizes
    asm volatile("s_getreg_b32 %0, hwreg(HW_REG_MODE, 0, 8)" : "=s"(mode));
    put(static_cast<int>(mode));
    __shared__ int lds[64];
    lds[63 - i] = x;
    __builtin_amdgcn_s_waitcnt(0xc07f);
    __builtin_amdgcn_s_barrier();
    put(lds[i]);
    const auto half = __builtin_amdgcn_make_buffer_rsrc(const_cast<int*>(in), 0, 32 * 4, 0x00027000);
    put(__builtin_amdgcn_raw_buffer_load_b32(half, i * 4, 0, 0));
    put(static_cast<int>(__builtin_amdgcn_ballot_w64(x & 1) >> i & 1));
    put(static_cast<int>(__builtin_amdgcn_fmed3f(static_cast<float>(x & 255), 100.0F, 30.0F)));
}
__global__ void multiply(const float* a, const float* b, float* c) {
    Float4 sum = {0, 0, 0, 0};
    const int row = threadIdx.x % 16, quarter = threadIdx.x / 16;
    for (int k = quarter; k < 16; k += 4) sum = __builtin_amdgcn_mfma_f32_16x16x4f32(a[row * 16 + k], b[k * 16 + row], sum, 0, 0, 0);
    for (int r = 0; r < 4; ++r) c[(quarter * 4 + r) * 16 + row] = sum[r];
}
int main() {
    const auto in = generate(64, [](std::size_t i) { return static_cast<int>(mixed(i * 3 + 1)); });
    Device<int> d(in), out(64 * kResults);
    run<<<1, 64>>>(d.data, out.data);
    const auto got = out.read();
    const auto byte = [](unsigned v, int k) { return static_cast<int>(v >> 8 * k & 255U); };
    const auto signed_byte = [&](unsigned v, int k) { return static_cast<int>(static_cast<signed char>(byte(v, k))); };
    for (int i = 0; i < 64; ++i) {
        const unsigned x = in[i], y = in[(i + 1) % 64];
        int apart = 5, signed_dot = 7, dot = 7;
        for (int k = 0; k < 4; ++k) {
            apart += std::abs(byte(x, k) - byte(y, k));
            signed_dot += signed_byte(x, k) * signed_byte(y, k);
            dot += byte(x, k) * byte(y, k);
        }
        const int field = static_cast<int>(x >> 5 & 511U), low = static_cast<int>(x & 255U);
        const int want[kResults] = {
            in[i * 7 & 63], in[i * 13 & 63], in[13], in[i ^ 1], i % 16 ? in[i - 1] : -1, in[i ^ 1], i,
            static_cast<int>(static_cast<unsigned>(byte(x, 3)) << 24U) | byte(y, 2) << 16 | byte(x, 1) << 8 | byte(y, 0),
            field, field < 256 ? field : field - 512, static_cast<int>(((static_cast<unsigned long long>(x) << 32U) | y) >> (i & 31)),
            apart, signed_dot, dot, 64, 0xf0, in[63 - i], i < 32 ? in[i] : 0, static_cast<int>(x & 1U), std::min(std::max(low, 30), 100)};
        for (int k = 0; k < kResults; ++k) expect("result of a lane", static_cast<std::size_t>(k * 64 + i), got[k * 64 + i], want[k]);
    }
    const auto a = generate(256, [](std::size_t i) { return static_cast<float>(mixed(i) % 8); });
    const auto b = generate(256, [](std::size_t i) { return static_cast<float>(mixed(i + 999) % 8); });
    Device<float> da(a), db(b), dc(256);
    multiply<<<1, 64>>>(da.data, db.data, dc.data);
    expect_all("product", dc.read(), [&](std::size_t i) {
        float sum = 0;
        for (std::size_t k = 0; k < 16; ++k) sum += a[i / 16 * 16 + k] * b[k * 16 + i % 16];
        return sum;
    });
    return verdict();
}
