// Mistakes that HIP programs really have, on the lines that say PLANTED, each with its corrected twin.
#include <hip/hip_runtime.h>
// missing __syncthreads in the second half of a tiled loop
__global__ void tiled_once(const float* a, const float* b, float* c, int n) {
    __shared__ float s[16][16], t[16][16];
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        s[threadIdx.y][threadIdx.x] = a[y * n + k + threadIdx.x];    // rows that their own wave reads
        t[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + x];  // PLANTED data-race
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += s[threadIdx.y][i] * t[i][threadIdx.x];  // PLANTED data-race
    }
    c[y * n + x] = sum;
}
__global__ void ok_tiled(const float* a, const float* b, float* c, int n) {
    __shared__ float s[16][16], t[16][16];
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        s[threadIdx.y][threadIdx.x] = a[y * n + k + threadIdx.x];
        t[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + x];
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += s[threadIdx.y][i] * t[i][threadIdx.x];
        __syncthreads();
    }
    c[y * n + x] = sum;
}
// one past the end of a row, in the last block only
__global__ void halo_past_the_end(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = in[i + 1] - in[i];  // PLANTED out-of-bounds
}
__global__ void ok_halo(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + 1 < n) out[i] = in[i + 1] - in[i];
    else if (i < n) out[i] = 0;
}
// two buffers in LDS with one barrier too few
__global__ void double_buffer(const int* in, int* out, int steps) {
    __shared__ int buffer[2][256];
    buffer[0][threadIdx.x] = in[threadIdx.x];
    int sum = 0;
    for (int k = 0; k < steps; ++k) {
        if (k % 2 == 0) __syncthreads();
        buffer[(k + 1) & 1][threadIdx.x] = in[(k + 1) * 256 + threadIdx.x];  // PLANTED data-race
        sum += buffer[k & 1][255 - threadIdx.x];                             // PLANTED data-race // PLANTED uninitialised-read
    }
    out[threadIdx.x] = sum;
}
__global__ void ok_double_buffer(const int* in, int* out, int steps) {
    __shared__ int buffer[2][256];
    buffer[0][threadIdx.x] = in[threadIdx.x];
    int sum = 0;
    for (int k = 0; k < steps; ++k) {
        __syncthreads();
        buffer[(k + 1) & 1][threadIdx.x] = in[(k + 1) * 256 + threadIdx.x];
        sum += buffer[k & 1][255 - threadIdx.x];
        __syncthreads();
    }
    out[threadIdx.x] = sum;
}
// a sum over warps of 32 lanes that all but the first wave are still busy with
__global__ void warps_of_32(const int* in, int* out) {
    __shared__ int sums[8];
    int v = in[threadIdx.x];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down(v, d, 32);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;  // PLANTED data-race
    if (threadIdx.x < 8) {
        int s = sums[threadIdx.x];  // PLANTED data-race // PLANTED uninitialised-read // PLANTED wave-synchronous
        for (int d = 4; d > 0; d /= 2) s += __shfl_down(s, d, 8);
        if (threadIdx.x == 0) *out = s;
    }
}
__global__ void ok_warps(const int* in, int* out) {
    __shared__ int sums[8];
    int v = in[threadIdx.x];
    for (int d = 16; d > 0; d /= 2) v += __shfl_down(v, d, 32);
    if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = v;
    __syncthreads();
    if (threadIdx.x < 8) {
        int s = sums[threadIdx.x];
        for (int d = 4; d > 0; d /= 2) s += __shfl_down(s, d, 8);
        if (threadIdx.x == 0) *out = s;
    }
}
// a block-stride loop whose barrier some threads skip
__global__ void stride_barrier(const int* in, int* out, int n) {
    __shared__ int t[256];
    for (int i = threadIdx.x; i < n; i += blockDim.x) {
        t[threadIdx.x] = in[i];
        __syncthreads();  // PLANTED divergent-barrier
        out[i] = t[threadIdx.x];
    }
}
__global__ void ok_stride_barrier(const int* in, int* out, int n) {
    __shared__ int t[256];
    for (int base = 0; base < n; base += blockDim.x) {
        const int i = base + threadIdx.x;
        if (i < n) t[threadIdx.x] = in[i];
        __syncthreads();
        if (i < n) out[i] = t[threadIdx.x];
        __syncthreads();
    }
}
// memory of hipMalloc read as a flag
__global__ void flag_unset(const int* flag, int* out) {
    if (*flag) out[threadIdx.x] = 1;  // PLANTED uninitialised-read
}
__global__ void ok_flag(const int* flag, int* out) {
    if (*flag) out[threadIdx.x] = 1;
}
// atomics of workgroup scope between workgroups: data handed on with them
__global__ void handed_on(int* data, int* flag, int* out) {
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x;  // PLANTED stale-read
        __syncthreads();
        if (threadIdx.x == 0) __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);  // PLANTED stale-read
    } else {
        if (threadIdx.x == 0)
            for (int n = 0; n < 100 && __hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) == 0; ++n) {}  // PLANTED stale-read
        __syncthreads();
        out[threadIdx.x] = data[threadIdx.x];  // PLANTED stale-read
    }
}
__global__ void ok_handed_on(int* data, int* flag, int* out) {
    if (blockIdx.x == 0) {
        data[threadIdx.x] = threadIdx.x;
        __syncthreads();
        if (threadIdx.x == 0) __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    } else {
        if (threadIdx.x == 0)
            while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) == 0) {}
        __syncthreads();
        out[threadIdx.x] = data[threadIdx.x];
    }
}
// __shfl from a lane that is off
__global__ void shuffle_inactive(const int* in, int* out) {
    int v = in[threadIdx.x];
    if (threadIdx.x % 64 < 32) {
        const int w = v * 3;
        out[threadIdx.x] = __shfl(w, (threadIdx.x + 32) % 64);  // PLANTED uninitialised-read
    }
}
__global__ void ok_shuffle(const int* in, int* out) {
    const int w = in[threadIdx.x] * 3;
    const int other = __shfl(w, (threadIdx.x + 32) % 64);
    if (threadIdx.x % 64 < 32) out[threadIdx.x] = other;
}
// a sum over a whole wave in a workgroup of half a one: the lanes that are not there give 0
__global__ void ok_half_wave(const int* in, int* out) {
    int v = in[threadIdx.x];
    for (int d = warpSize / 2; d > 0; d /= 2) v += __shfl_down(v, d);
    if (threadIdx.x == 0) *out = v;
}
// the last block sums up, without __threadfence
__global__ void last_block(const int* in, int* partial, unsigned* count, int* out) {
    __shared__ bool last;
    int v = in[blockIdx.x * 64 + threadIdx.x];
    for (int d = 32; d > 0; d /= 2) v += __shfl_down(v, d);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = v;  // PLANTED stale-read
        last = atomicAdd(count, 1u) == gridDim.x - 1;
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int sum = 0;
        for (unsigned i = 0; i < gridDim.x; ++i) sum += partial[i];  // PLANTED stale-read
        *out = sum;
        *count = 0;
    }
}
__global__ void ok_last_block(const int* in, int* partial, unsigned* count, int* out) {
    __shared__ bool last;
    int v = in[blockIdx.x * 64 + threadIdx.x];
    for (int d = 32; d > 0; d /= 2) v += __shfl_down(v, d);
    if (threadIdx.x == 0) {
        partial[blockIdx.x] = v;
        __threadfence();
        last = atomicAdd(count, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int sum = 0;
        for (unsigned i = 0; i < gridDim.x; ++i) sum += partial[i];
        *out = sum;
        *count = 0;
    }
}
// words over addresses that are not a multiple of 4
__global__ void misaligned_int(const char* in, int* out) {
    out[threadIdx.x] = *reinterpret_cast<const int*>(in + threadIdx.x * 4 + 1);  // PLANTED misaligned
}
__global__ void ok_int(const char* in, int* out) {
    int v;
    __builtin_memcpy(&v, in + threadIdx.x * 4 + 1, 4);
    out[threadIdx.x] = v;
}
// a sum by atomics, read plainly without waiting for the others
__global__ void sum_read_too_early(const int* in, int* sum, int* out) {
    atomicAdd(sum, in[threadIdx.x]);                     // PLANTED data-race
    if (threadIdx.x >= 192) out[threadIdx.x] = *sum;     // PLANTED data-race
}
__global__ void ok_sum(const int* in, int* sum, int* out) {
    atomicAdd(sum, in[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x >= 192) out[threadIdx.x] = *sum;
}
int main() {
    float *a, *b, *c, *ends;
    int *in, *out, *sum, *unset, *flag;
    unsigned* count;
    hipMalloc(&a, 32 * 32 * 4);
    hipMalloc(&b, 32 * 32 * 4);
    hipMalloc(&c, 32 * 32 * 4);
    hipMemset(a, 0, 4096);
    hipMemset(b, 0, 4096);
    hipMemset(c, 0, 4096);
    hipMalloc(&in, 16384);
    hipMemset(in, 0, 16384);
    hipMalloc(&out, 16384);
    hipMemset(out, 0, 16384);
    hipMalloc(&sum, 4);
    hipMemset(sum, 0, 4);
    hipMalloc(&count, 4);
    hipMemset(count, 0, 4);
    hipMalloc(&unset, 4);
    hipMalloc(&flag, 4);
    hipMemset(flag, 0, 4);
    hipMalloc(&ends, 1000 * 4);
    hipMemset(ends, 0, 4000);
    int numbers[256];
    for (int i = 0; i < 256; ++i) numbers[i] = i + 1;
    hipMemcpy(in, numbers, sizeof numbers, hipMemcpyHostToDevice);
    float values[1024];
    for (int i = 0; i < 1024; ++i) values[i] = i;
    hipMemcpy(a, values, 4096, hipMemcpyHostToDevice);
    hipMemcpy(b, values, 4096, hipMemcpyHostToDevice);
    tiled_once<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, 32);
    ok_tiled<<<dim3(2, 2), dim3(16, 16)>>>(a, b, c, 32);
    halo_past_the_end<<<4, 256>>>(ends, c, 1000);
    ok_halo<<<4, 256>>>(ends, c, 1000);
    double_buffer<<<1, 256>>>(in, out, 6);
    ok_double_buffer<<<1, 256>>>(in, out, 6);
    warps_of_32<<<1, 256>>>(in, out);
    ok_warps<<<1, 256>>>(in, out);
    stride_barrier<<<1, 256>>>(in, out, 1000);
    ok_stride_barrier<<<1, 256>>>(in, out, 1000);
    flag_unset<<<1, 64>>>(unset, out);
    ok_flag<<<1, 64>>>(flag, out);
    handed_on<<<2, 256>>>(in, flag, out);
    hipMemset(flag, 0, 4);
    ok_handed_on<<<2, 256>>>(in, flag, out);
    shuffle_inactive<<<1, 64>>>(in, out);
    ok_shuffle<<<1, 64>>>(in, out);
    ok_half_wave<<<1, 32>>>(in, sum);
    last_block<<<8, 64>>>(in, out, count, sum);
    ok_last_block<<<8, 64>>>(in, out, count, sum);
    misaligned_int<<<1, 64>>>((const char*)in, out);
    ok_int<<<1, 64>>>((const char*)in, out);
    sum_read_too_early<<<1, 256>>>(in, sum, out);
    ok_sum<<<1, 256>>>(in, sum, out);
    return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
