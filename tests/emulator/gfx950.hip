// What compilers make of gfx950's own instructions: matrix products with twice the depth and with scales, transposing
// reads, exchanges of halves, bitwise functions of three operands. Checks itself.
#include <hip/hip_runtime.h>

#include <cstdio>

using Half8 = _Float16 __attribute__((ext_vector_type(8)));
using Short4 = short __attribute__((ext_vector_type(4)));
using Float4 = float __attribute__((ext_vector_type(4)));
using Int8 = int __attribute__((ext_vector_type(8)));

struct Results {
    float product[256], scaled[256];
    short column[256];
    unsigned swapped[64], logic[64], random[64];
};

__global__ void kernel(Results* r) {
#if defined(__gfx950__)
    __shared__ short matrix[4 * 64];
    const unsigned lane = threadIdx.x;
    Half8 a, b;
    for (int n = 0; n < 8; ++n) {
        const int k = 8 * static_cast<int>(lane / 16) + n;
        a[n] = static_cast<_Float16>(static_cast<int>(lane % 16) - k % 5);
        b[n] = static_cast<_Float16>(k % 3 + static_cast<int>(lane % 16) % 4);
    }
    Float4 d = __builtin_amdgcn_mfma_f32_16x16x32_f16(a, b, Float4{}, 0, 0, 0);
    Int8 ones;
    for (int n = 0; n < 8; ++n) ones[n] = 0x38383838;  // 1.0 in E4M3
    Float4 s = __builtin_amdgcn_mfma_scale_f32_16x16x128_f8f6f4(ones, ones, Float4{}, 0, 0, 0, 128, 0, 127 + static_cast<int>(lane % 2));
    for (unsigned n = 0; n < 4; ++n) {
        r->product[(4 * (lane / 16) + n) * 16 + lane % 16] = d[n];
        r->scaled[(4 * (lane / 16) + n) * 16 + lane % 16] = s[n];
        matrix[4 * lane + n] = static_cast<short>(4 * lane + n);
    }
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    const Short4 t = __builtin_amdgcn_ds_read_tr16_b64_v4i16((__attribute__((address_space(3))) Short4*)(&matrix[4 * lane]));
    for (unsigned n = 0; n < 4; ++n) r->column[4 * lane + n] = t[n];
    r->swapped[lane] = __builtin_amdgcn_permlane32_swap(lane, lane + 100, false, false)[0];
    r->logic[lane] = (lane * 77U & ~(lane * 1013U)) ^ (lane << 3U | 0x55U);
    r->random[lane] = __builtin_amdgcn_prng_b32(lane * 0x12345678U);
#endif
}

int main() {
    Results* r = nullptr;
    if (hipMallocManaged(reinterpret_cast<void**>(&r), sizeof *r) != hipSuccess) return 2;
    kernel<<<1, 64>>>(r);
    if (hipDeviceSynchronize() != hipSuccess) return 3;
    int wrong = 0;
    for (int i = 0; i < 16; ++i) {
        for (int j = 0; j < 16; ++j) {
            int sum = 0;
            for (int k = 0; k < 32; ++k) sum += (i - k % 5) * (k % 3 + j % 4);
            wrong += r->product[16 * i + j] != static_cast<float>(sum);
            wrong += r->scaled[16 * i + j] != static_cast<float>(128 * 2 * (j % 2 == 0 ? 1 : 2));
        }
    }
    for (unsigned lane = 0; lane < 64; ++lane) {
        for (unsigned k = 0; k < 4; ++k) wrong += r->column[4 * lane + k] != static_cast<short>(64 * (lane / 16) + 16 * k + lane % 16);
        wrong += r->swapped[lane] != (lane < 32 ? lane : lane - 32 + 100);
        wrong += r->logic[lane] != ((lane * 77U & ~(lane * 1013U)) ^ (lane << 3U | 0x55U));
        const unsigned x = lane * 0x12345678U;
        wrong += r->random[lane] != (x << 1U ^ (x >> 31U != 0 ? 197U : 0U));
    }
    std::printf("%s: %d wrong\n", wrong == 0 ? "PASS" : "FAIL", wrong);
    return wrong == 0 ? 0 : 1;
}
