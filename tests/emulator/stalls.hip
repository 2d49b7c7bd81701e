// Kernels that wait for one thing each; tests/emulator/test_stalls.py knows where. Assembly where the compiler would
// otherwise choose the order.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

static void check(hipError_t error) {
    if (error == hipSuccess) return;
    std::printf("FAIL %s\n", hipGetErrorString(error));
    std::exit(1);
}

// The first load goes far apart into untouched memory, the second to one line.
__global__ void two_loads(const float* far, const float* near, float* out) {
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    const float* slow = far + id * 4096L;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < 16; ++k) {
        float a, b;
        asm volatile("global_load_dword %0, %1, off" : "=&v"(a) : "v"(slow + k * 64));  // @slow_load
        asm volatile("global_load_dword %0, %1, off" : "=&v"(b) : "v"(near));  // @fast_load
        asm volatile("s_waitcnt vmcnt(1)\nv_add_f32 %0, %0, 1.0" : "+v"(a));  // @wait_slow
        asm volatile("s_waitcnt vmcnt(0)\nv_add_f32 %0, %0, 1.0" : "+v"(b));  // @wait_fast
        sum += a + b;
    }
    out[id] = sum;
}

__global__ void two_loads_late(const float* far, const float* near, float* out) {
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    const float* slow = far + id * 4096L + 32;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < 16; ++k) {
        float a, b;
        asm volatile("global_load_dword %0, %1, off" : "=&v"(b) : "v"(near));  // @fast_load
        asm volatile("global_load_dword %0, %1, off" : "=&v"(a) : "v"(slow + k * 64));  // @slow_load
        asm volatile("s_waitcnt vmcnt(0)\nv_add_f32 %0, %1, %0" : "+v"(a) : "v"(b));  // @wait_all
        sum += a;
    }
    out[id] = sum;
}

__global__ void lds_and_global(const float* in, float* out) {
    __shared__ float tile[64 * 32];
    for (int i = threadIdx.x; i < 64 * 32; i += blockDim.x) tile[i] = i;
    __syncthreads();
    const int lane = threadIdx.x & 63;
    unsigned address = static_cast<unsigned>(reinterpret_cast<unsigned long>(&tile[0])) + lane * 128;  // one bank
    const float* at = in + (blockIdx.x * blockDim.x + threadIdx.x) * 64L;
    float sum = 0;
#pragma unroll 1
    for (int k = 0; k < 8; ++k) {
        float a, b;
        asm volatile("ds_read_b32 %0, %1" : "=&v"(a) : "v"(address));  // @lds_read
        asm volatile("s_waitcnt lgkmcnt(0)\nv_add_f32 %0, %0, 1.0" : "+v"(a));  // @lds_wait
        asm volatile("global_load_dword %0, %1, off" : "=&v"(b) : "v"(at + k * 65536L));  // @global_read
        asm volatile("s_waitcnt vmcnt(0)\nv_add_f32 %0, %0, 1.0" : "+v"(b));  // @global_wait
        sum += a + b;
    }
    out[blockIdx.x * blockDim.x + threadIdx.x] = sum;
}

__global__ void imbalance(float* out) {
    float x = threadIdx.x;
    if (threadIdx.x < 64)
        for (int k = 0; k < 2000; ++k) x = x * 1.0001f + 0.5f;
    __syncthreads();  // @barrier
    out[blockIdx.x * blockDim.x + threadIdx.x] = x;
}

__global__ void atomic_queue(int* counter) {
#pragma unroll 1
    for (int k = 0; k < 32; ++k)
        asm volatile("global_atomic_add %0, %1, off" ::"v"(counter), "v"(1) : "memory");  // @atomic
}

__global__ void large_loop(float* out) {
    float x = threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < 4; ++k)
        asm volatile(".rept 12288\nv_add_f32_e64 %0, %0, 1.0\n.endr" : "+v"(x));  // @large
    out[threadIdx.x] = x;
}

__global__ void small_loop(float* out) {
    float x = threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < 12; ++k)
        asm volatile(".rept 4096\nv_add_f32_e64 %0, %0, 1.0\n.endr" : "+v"(x));  // @small
    out[threadIdx.x] = x;
}

__global__ void trans_chain(float* out) {
    float x = threadIdx.x + 1.0f;
    asm volatile(".rept 512\nv_rcp_f32 %0, %0\n.endr" : "+v"(x));  // @chain
    out[threadIdx.x] = x;
}

__global__ void trans_independent(float* out) {
    float x = threadIdx.x + 1.0f, a, b, c, d;
    asm volatile(".rept 512\nv_rcp_f32 %0, %4\nv_rcp_f32 %1, %4\nv_rcp_f32 %2, %4\nv_rcp_f32 %3, %4\n.endr"  // @independent
                 : "=&v"(a), "=&v"(b), "=&v"(c), "=&v"(d) : "v"(x));
    out[threadIdx.x] = a + b + c + d;
}

__global__ void scalar_chase(const unsigned long* start, unsigned long* out) {
    unsigned long p = reinterpret_cast<unsigned long>(start);
#pragma unroll 1
    for (int k = 0; k < 64; ++k)
        asm volatile("s_load_dwordx2 %0, %0, 0x0\ns_waitcnt lgkmcnt(0)" : "+s"(p));  // @scalar
    out[threadIdx.x] = p;
}

typedef float f4 __attribute__((ext_vector_type(4)));

__global__ void mfma_chain(float* out) {
    float x = threadIdx.x;
#pragma unroll 8
    for (int k = 0; k < 64; ++k) x = __builtin_amdgcn_mfma_f32_16x16x4f32(x, x, f4{}, 0, 0, 0)[0];  // @product
    out[threadIdx.x] = x;
}

__global__ void mfma_accumulate(float* out) {
    f4 sum = {};
    float x = threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < 64; ++k)
        asm volatile(".rept 8\nv_mfma_f32_16x16x4_f32 %0, %1, %1, %0\n.endr" : "+v"(sum) : "v"(x));  // @accumulate
    out[threadIdx.x] = sum.x;
}

// `in` is all zeros, which the compiler does not know: each load waits for the one before it.
__global__ void many_waves(const int* in, int* out) {
    int at = blockIdx.x * blockDim.x + threadIdx.x;
#pragma unroll 1
    for (int k = 0; k < 32; ++k) at = (at + 8192 + in[at]) & 0x3ffff;  // @many
    out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

__global__ void few_waves(const int* in, int* out) {
    __shared__ int space[33 * 256];
    space[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    int at = blockIdx.x * blockDim.x + threadIdx.x + space[255 - threadIdx.x];
#pragma unroll 1
    for (int k = 0; k < 32; ++k) at = (at + 8192 + in[at]) & 0x3ffff;  // @few
    out[blockIdx.x * blockDim.x + threadIdx.x] = at;
}

__global__ void many_registers(float* out) {
    float x = threadIdx.x;
    asm volatile("v_mov_b32 v199, %0\nv_add_f32 %0, v199, %0" : "+v"(x) : : "v199");
    out[threadIdx.x] = x;
}

int main() {
    constexpr long n = 1 << 26;
    float *far = nullptr, *out = nullptr;
    int* counter = nullptr;
    unsigned long* chain = nullptr;
    check(hipMalloc(reinterpret_cast<void**>(&far), n * 4));
    check(hipMalloc(reinterpret_cast<void**>(&out), 1 << 22));
    check(hipMalloc(reinterpret_cast<void**>(&counter), 256));
    check(hipMalloc(reinterpret_cast<void**>(&chain), 65 * 4096));
    static unsigned long links[65 * 512];
    for (long k = 0; k < 64; ++k) links[k * 512] = reinterpret_cast<unsigned long>(chain + (k + 1) * 512);
    check(hipMemcpy(chain, links, sizeof links, hipMemcpyHostToDevice));
    two_loads<<<48, 64>>>(far, out, out);
    two_loads_late<<<48, 64>>>(far + (n >> 1), out, out);
    lds_and_global<<<6, 256>>>(far, out);
    imbalance<<<6, 256>>>(out);
    atomic_queue<<<228, 256>>>(counter);
    large_loop<<<1, 64>>>(out);
    small_loop<<<1, 64>>>(out);
    trans_chain<<<1, 64>>>(out);
    trans_independent<<<6, 512>>>(out);
    scalar_chase<<<1, 64>>>(chain, reinterpret_cast<unsigned long*>(out));
    mfma_chain<<<1, 64>>>(out);
    mfma_accumulate<<<1, 64>>>(out);
    many_waves<<<912, 256>>>(reinterpret_cast<int*>(far), reinterpret_cast<int*>(out));
    few_waves<<<912, 256>>>(reinterpret_cast<int*>(far), reinterpret_cast<int*>(out));
    many_registers<<<1, 64>>>(out);
    check(hipDeviceSynchronize());
}
