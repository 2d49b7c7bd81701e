// One launch for each row of published.toml, in this order of names; prints the name of each launch and how many units of work a
// wave (latencies, rates) or all of them (bytes) did. Launches named "-" prepare the next one.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(hipError_t error) {
    if (error == hipSuccess) return;
    std::printf("%s\n", hipGetErrorString(error));
    std::exit(1);
}

static void say(const char* name, double work) { std::printf("%s %.0f\n", name, work); }

__global__ void nothing(int* out, int n) {
    if (static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x) < n) *out = 1;
}

// --- chases: each element holds the address of the next one ---

__global__ void link(char* base, long bytes, long stride) {
    const long steps = bytes / stride;
    for (long i = blockIdx.x * blockDim.x + threadIdx.x; i < steps; i += gridDim.x * blockDim.x)
        *reinterpret_cast<char**>(base + i * stride) = base + (i * 37 + 1) % steps * stride;
}

__global__ void chase(char** from, int steps, char*** out) {
    char** p = from;
    for (int k = 0; k < steps; k += 8) {
#pragma unroll
        for (int j = 0; j < 8; ++j) asm volatile("global_load_dwordx2 %0, %0, off\ns_waitcnt vmcnt(0)" : "+v"(p));
    }
    out[threadIdx.x] = p;
}

__global__ void chase_scalar(char** from, int steps, char*** out) {
    char** p = from;
    for (int k = 0; k < steps; k += 8) {
#pragma unroll
        for (int j = 0; j < 8; ++j) asm volatile("s_load_dwordx2 %0, %0, 0x0\ns_waitcnt lgkmcnt(0)" : "+s"(p));
    }
    out[threadIdx.x] = p;
}

__global__ void chase_lds(int steps, int* out) {
    __shared__ int next[1024];
    for (int i = threadIdx.x; i < 1024; i += 64) next[i] = ((i + 64) % 1024) * 4;
    __syncthreads();
    int at = threadIdx.x * 4;
    for (int k = 0; k < steps; k += 8) {
#pragma unroll
        for (int j = 0; j < 8; ++j) asm volatile("ds_read_b32 %0, %0\ns_waitcnt lgkmcnt(0)" : "+v"(at));
    }
    out[threadIdx.x] = at + next[threadIdx.x];
}

// --- rates: 2,048 instructions of one kind, without dependencies that matter ---

#define RATE(name, code)                                                                 \
    __global__ void name(float* out) {                                                   \
        asm volatile(".rept 512\n" code "\n.endr\ns_nop 15\ns_nop 15" ::: "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "s40", \
                     "s41", "s42", "s43", "v28", "v29", "v30", "v31", "v32", "v33", "v34", "v35", "v36", "v37", "v38", "v39", "memory"); \
        out[threadIdx.x] = 1;                                                            \
    }
#define FOUR(code) code " v20, v28\n" code " v21, v28\n" code " v22, v28\n" code " v23, v28"
#define FOUR3(code) code " v20, v28, v28, v28\n" code " v21, v28, v28, v28\n" code " v22, v28, v28, v28\n" code " v23, v28, v28, v28"
#define PAIRS(code)                                                                                                  \
    code " v[20:21], v[28:29], v[28:29], v[28:29]\n" code " v[22:23], v[28:29], v[28:29], v[28:29]\n" code           \
         " v[24:25], v[28:29], v[28:29], v[28:29]\n" code " v[26:27], v[28:29], v[28:29], v[28:29]"
RATE(fma_f32, FOUR3("v_fma_f32"))
RATE(pk_fma_f32, PAIRS("v_pk_fma_f32"))
RATE(fma_f64, PAIRS("v_fma_f64"))
RATE(exp_f32, FOUR("v_exp_f32"))
RATE(cvt_f32_u32, FOUR("v_cvt_f32_u32"))
RATE(salu, "s_mov_b32 s40, 1\ns_mov_b32 s41, 1\ns_mov_b32 s42, 1\ns_mov_b32 s43, 1")
RATE(valu_with_salu, "v_mov_b32 v20, 1\ns_mov_b32 s40, 1\nv_mov_b32 v21, 1\ns_mov_b32 s41, 1")
RATE(mfma_32x32x8_f16, "v_mfma_f32_32x32x8_f16 a[0:15], v[28:29], v[30:31], a[0:15]\nv_mfma_f32_32x32x8_f16 a[0:15], v[28:29], "
                       "v[30:31], a[0:15]\nv_mfma_f32_32x32x8_f16 a[0:15], v[28:29], v[30:31], a[0:15]\nv_mfma_f32_32x32x8_f16 a[0:15], "
                       "v[28:29], v[30:31], a[0:15]")
RATE(mfma_16x16x16_f16, "v_mfma_f32_16x16x16_f16 a[0:3], v[28:29], v[30:31], a[0:3]\nv_mfma_f32_16x16x16_f16 a[0:3], v[28:29], "
                        "v[30:31], a[0:3]\nv_mfma_f32_16x16x16_f16 a[0:3], v[28:29], v[30:31], a[0:3]\nv_mfma_f32_16x16x16_f16 a[0:3], "
                        "v[28:29], v[30:31], a[0:3]")
RATE(mfma_16x16x4_f64, "v_mfma_f64_16x16x4_f64 a[0:7], v[28:29], v[30:31], a[0:7]\nv_mfma_f64_16x16x4_f64 a[0:7], v[28:29], "
                       "v[30:31], a[0:7]\nv_mfma_f64_16x16x4_f64 a[0:7], v[28:29], v[30:31], a[0:7]\nv_mfma_f64_16x16x4_f64 a[0:7], "
                       "v[28:29], v[30:31], a[0:7]")

template <int stride>
__global__ void lds_reads(int steps, int* out) {
    __shared__ int words[64 * 32];
    const int at = static_cast<int>(threadIdx.x % 64) * stride * 4 % (64 * 32 * 4);
    int v = 0;
    for (int k = 0; k < steps; k += 8) {
        int a, b, c, d, e, f, g, h;
        asm volatile("ds_read_b32 %0, %8\nds_read_b32 %1, %8\nds_read_b32 %2, %8\nds_read_b32 %3, %8\nds_read_b32 %4, %8\n"
                     "ds_read_b32 %5, %8\nds_read_b32 %6, %8\nds_read_b32 %7, %8\ns_waitcnt lgkmcnt(0)"
                     : "=&v"(a), "=&v"(b), "=&v"(c), "=&v"(d), "=&v"(e), "=&v"(f), "=&v"(g), "=&v"(h) : "v"(at));
        v += a + b + c + d + e + f + g + h;
    }
    if (steps < 0) words[threadIdx.x] = v;
    out[threadIdx.x] = v + words[threadIdx.x];
}

// --- streams ---

__global__ void read(const float4* a, long n, int rounds, float* out) {
    float sum = 0;
    const long all = static_cast<long>(gridDim.x) * blockDim.x, first = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (int r = 0; r < rounds; ++r)
        for (long i = first; i < n; i += all * 4) {
            float4 v[4];
#pragma unroll
            for (int k = 0; k < 4; ++k) v[k] = a[i + all * k < n ? i + all * k : i];
            sum += v[0].x + v[1].y + v[2].z + v[3].w;
        }
    if (sum == 12345.5f) *out = sum;
}

__global__ void read_l2(const float4* a, long mask, int rounds, float* out) {
    float sum = 0;
    long at = (static_cast<long>(blockIdx.x) / 8 * 2048 + threadIdx.x) & mask;
    for (int r = 0; r < rounds; ++r) {
        float4 v[4];
#pragma unroll
        for (int k = 0; k < 4; ++k) v[k] = a[(at + k * 256) & mask];
        sum += v[0].x + v[1].y + v[2].z + v[3].w;
        at = (at + 4096) & mask;
    }
    if (sum == 12345.5f) *out = sum;
}

__global__ void write(float4* a, long mask, int rounds, int apart) {
    const long first = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x;
    for (int r = 0; r < rounds; ++r) a[(first + static_cast<long>(r) * apart) & mask] = make_float4(1, 2, 3, 4);
}

__global__ void copy(const double* a, double* c) { const long i = blockIdx.x * 1024L + threadIdx.x; c[i] = a[i]; }
__global__ void mul(const double* c, double* b) { const long i = blockIdx.x * 1024L + threadIdx.x; b[i] = 0.4 * c[i]; }
__global__ void add(const double* a, const double* b, double* c) { const long i = blockIdx.x * 1024L + threadIdx.x; c[i] = a[i] + b[i]; }
__global__ void triad(double* a, const double* b, const double* c) { const long i = blockIdx.x * 1024L + threadIdx.x; a[i] = b[i] + 0.4 * c[i]; }

template <int stride, class T>
__global__ void partial_stores(char* a, T value) {
    const long i = static_cast<long>(blockIdx.x) * blockDim.x + threadIdx.x;
    *reinterpret_cast<T*>(a + i * stride) = value;
}

__global__ void atomics(float* a, int words, int steps) {
    unsigned at = (blockIdx.x * blockDim.x + threadIdx.x) * 2654435761u;
    for (int k = 0; k < steps; ++k) {
        at = at * 747796405u + 2891336453u;
        atomicAdd(&a[(at >> 9) % static_cast<unsigned>(words)], 1.0f);
    }
}

__global__ void one_word(double* a, int mask) { if (threadIdx.x == 0) atomicAdd(&a[blockIdx.x & mask], 1.0); }

template <int blocks>
__global__ void straight_code(int rounds, float* out) {
    for (int r = 0; r < rounds; ++r) asm volatile(".rept %0\n.rept 256\nv_mov_b32 v20, v21\n.endr\n.endr" ::"n"(blocks) : "v20");
    out[threadIdx.x] = 1;
}

template <int blocks>
__global__ void long_code(float* out) {
    asm volatile(".rept %0\n.rept 256\nv_mov_b32 v20, v21\n.endr\n.endr" ::"n"(blocks) : "v20");
    out[threadIdx.x] = 1;
}

int main() {
    const long mib = 1L << 20, n = 1L << 25;
    char* small;
    double *a, *b, *c;
    check(hipMalloc(&small, 64 * mib));
    check(hipMalloc(&a, n * 8));
    check(hipMalloc(&b, n * 8));
    check(hipMalloc(&c, n * 8));
    check(hipMemset(small, 0, 64 * mib));
    auto* out = reinterpret_cast<float*>(small + 60 * mib);
    auto* words = reinterpret_cast<int*>(out);
    auto** start = reinterpret_cast<char**>(small);
    auto*** end = reinterpret_cast<char***>(out);
    const auto chases = [&](const char* name, long bytes, bool scalar, int steps) {
        say("-", 0);
        link<<<64, 256>>>(small, bytes, scalar ? 64 : 128);
        for (int warm = 1; warm >= 0; --warm) {
            say(warm ? "-" : name, steps);
            if (scalar) chase_scalar<<<1, 64>>>(start, steps, end);
            else chase<<<1, 64>>>(start, steps, end);
        }
    };
    say("empty_launch", 1);
    nothing<<<1, 64>>>(words, 0);
    chases("latency_l1", 16 << 10, false, 1 << 16);  // a launch finds its L1 empty: many times more steps than lines
    chases("latency_l2", 256 << 10, false, 1 << 17);
    chases("latency_mall", 32 * mib, false, 1 << 17);  // many more lines than the L2 keeps from the launch before
    chases("latency_scalar", 8 << 10, true, 1 << 16);
    chases("latency_scalar_l2", 256 << 10, true, 1 << 17);
    say("latency_lds", 1 << 16);
    chase_lds<<<1, 64>>>(1 << 16, words);
    say("fma_f32", 2048 * 2); fma_f32<<<304, 512>>>(out);
    say("pk_fma_f32", 2048 * 2); pk_fma_f32<<<304, 512>>>(out);
    say("fma_f64", 2048 * 2); fma_f64<<<304, 512>>>(out);
    say("exp_f32", 2048 * 2); exp_f32<<<304, 512>>>(out);
    say("cvt_f32_u32", 2048 * 2); cvt_f32_u32<<<304, 512>>>(out);
    say("salu", 2048 * 2); salu<<<304, 512>>>(out);
    say("valu_with_salu", 2048 * 4); valu_with_salu<<<304, 1024>>>(out);
    say("mfma_32x32x8_f16", 2048); mfma_32x32x8_f16<<<304, 256>>>(out);
    say("mfma_16x16x16_f16", 2048); mfma_16x16x16_f16<<<304, 256>>>(out);
    say("mfma_16x16x4_f64", 2048); mfma_16x16x4_f64<<<304, 256>>>(out);
    say("lds_stride_1", 1024 * 16); lds_reads<1><<<304, 1024>>>(1024, words);
    say("lds_stride_8", 1024 * 16); lds_reads<8><<<304, 1024>>>(1024, words);
    say("lds_stride_32", 1024 * 16); lds_reads<32><<<304, 1024>>>(1024, words);
    say("-", 0); read_l2<<<304 * 8, 256>>>(reinterpret_cast<float4*>(small), mib / 16 - 1, 16, out);
    say("read_l2", 304.0 * 8 * 256 * 16 * 4 * 64); read_l2<<<304 * 8, 256>>>(reinterpret_cast<float4*>(small), mib / 16 - 1, 64, out);
    say("write_l2", 304.0 * 8 * 256 * 16 * 32); write<<<304 * 8, 256>>>(reinterpret_cast<float4*>(small), mib / 16 - 1, 32, 256 * 304 * 8);
    say("read_mall", 56.0 * mib); read<<<304 * 8, 256>>>(reinterpret_cast<float4*>(small), 56 * mib / 16, 1, out);
    say("copy", n * 16.0); copy<<<n / 1024, 1024>>>(a, c);
    say("mul", n * 16.0); mul<<<n / 1024, 1024>>>(c, b);
    say("add", n * 24.0); add<<<n / 1024, 1024>>>(a, b, c);
    say("triad", n * 24.0); triad<<<n / 1024, 1024>>>(a, b, c);
    say("read_hbm", n * 8.0); read<<<304 * 8, 256>>>(reinterpret_cast<float4*>(b), n / 2, 1, out);
    say("write_hbm", n * 8.0); write<<<n / 2 / 256, 256>>>(reinterpret_cast<float4*>(a), n / 2 - 1, 1, 0);
    say("latency_hbm_first", 0);
    link<<<64, 256>>>(reinterpret_cast<char*>(c), 32 * mib, 4096);
    say("-", n * 8.0); write<<<n / 2 / 256, 256>>>(reinterpret_cast<float4*>(a), n / 2 - 1, 1, 0);
    say("-", n * 8.0); write<<<n / 2 / 256, 256>>>(reinterpret_cast<float4*>(b), n / 2 - 1, 1, 0);
    say("latency_hbm", 4096); chase<<<1, 64>>>(reinterpret_cast<char**>(c), 4096, end);
    say("stores_1_of_4", 1 << 20); partial_stores<4><<<4096, 256>>>(small, char(1));
    say("stores_2_of_2", 1 << 20); partial_stores<2><<<4096, 256>>>(small, short(1));
    say("stores_4_of_4", 1 << 20); partial_stores<4><<<4096, 256>>>(small, 1);
    say("stores_4_of_32", 1 << 20); partial_stores<32><<<4096, 256>>>(small, 1);
    say("stores_4_of_64", 1 << 19); partial_stores<64><<<2048, 256>>>(small, 1);
    say("stores_4_of_128", 1 << 18); partial_stores<128><<<1024, 256>>>(small, 1);
    for (const int count : {1, 32, 1024, 32768, 1 << 20}) {
        char name[32];
        std::snprintf(name, sizeof name, "atomics_%d", count);
        say(name, 304.0 * 256 * 4);
        atomics<<<304, 256>>>(reinterpret_cast<float*>(small), count, 4);
    }
    say("one_word_f64", 2048); one_word<<<2048, 64>>>(reinterpret_cast<double*>(small), 0);
    say("code_1", 256.0 * 256); straight_code<1><<<1, 64>>>(256, out);
    say("code_16", 256.0 * 256); straight_code<16><<<1, 64>>>(16, out);
    say("code_63", 252.0 * 256); straight_code<63><<<1, 64>>>(4, out);
    say("-", 0); long_code<128><<<1, 64>>>(out);
    say("code_128", 128.0 * 256); long_code<128><<<1, 64>>>(out);
    say("-", 0); long_code<256><<<1, 64>>>(out);
    say("code_256", 256.0 * 256); long_code<256><<<1, 64>>>(out);
    say("workgroups_of_4", 80000.0 / 8); nothing<<<80000, 256>>>(words, 0);
    say("workgroups_of_1", 80000.0 / 8); nothing<<<80000, 64>>>(words, 0);
    check(hipDeviceSynchronize());
}
