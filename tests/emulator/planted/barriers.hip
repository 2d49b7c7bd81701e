// One defect per kernel, on the lines that say PLANTED; the class is the word after it.
#include <hip/hip_runtime.h>

__global__ void half_the_lanes(int* out) {
    __shared__ int t[64];
    t[threadIdx.x] = threadIdx.x;
    if (threadIdx.x < 32) {
        __syncthreads();  // PLANTED divergent-barrier
        out[threadIdx.x] = t[threadIdx.x];
    }
}
__global__ void early_return(int* out, int n) {
    __shared__ int t[64];
    if (threadIdx.x >= n) return;
    t[threadIdx.x] = out[threadIdx.x];
    __syncthreads();  // PLANTED divergent-barrier
    out[threadIdx.x] = t[0];
}
__global__ void one_wave_leaves(int* out) {
    __shared__ int t[256];
    if (threadIdx.x >= 192) return;
    t[threadIdx.x] = out[threadIdx.x];
    __syncthreads();  // the hardware counts the waves that are left
    out[threadIdx.x] = t[0];
}
__global__ void two_sides(int* out) {
    __shared__ int t[128];
    t[threadIdx.x] = out[threadIdx.x];
    if (threadIdx.x / 64 == 0) {
        out[300] = 1;
        __syncthreads();  // PLANTED divergent-barrier
    } else {
        out[301] = 2;
        __syncthreads();
    }
    out[threadIdx.x] = t[0];
}
__global__ void lanes_on_two_sides(int* out) {
    __shared__ int t[64];
    t[threadIdx.x] = out[threadIdx.x];
    if (threadIdx.x & 1) {
        out[100] = 3;
        __syncthreads();  // PLANTED divergent-barrier
    } else {
        out[101] = 4;
        __syncthreads();  // PLANTED divergent-barrier
    }
    out[threadIdx.x] = t[0];
}
__global__ void in_a_loop(int* out) {
    __shared__ int t[64];
    for (int i = 0; i <= (int)threadIdx.x; i += 16) {
        t[threadIdx.x] = out[threadIdx.x] + i;
        __syncthreads();  // PLANTED divergent-barrier
        out[threadIdx.x] += t[(threadIdx.x + 1) & 63];
    }
}
__global__ void waves_loop_unequally(int* out) {
    __shared__ int t[128];
    for (int i = 0; i <= (int)threadIdx.x / 64; ++i) {
        t[threadIdx.x] = out[threadIdx.x] + i;
        __syncthreads();  // the same
    }
    out[threadIdx.x] = t[0];
}
__global__ void guarded_tile(int* out, int n) {
    __shared__ int t[128];
    const int i = blockIdx.x * 128 + threadIdx.x;
    if (i < n) {
        t[threadIdx.x] = out[i];
        __syncthreads();  // PLANTED divergent-barrier
        out[i] = t[127 - threadIdx.x];  // PLANTED uninitialised-read
    }
}
__global__ void in_a_switch(int* out) {
    __shared__ int t[64];
    t[threadIdx.x] = out[threadIdx.x];
    switch (threadIdx.x % 3) {
        case 0: __syncthreads(); break;  // PLANTED divergent-barrier
        case 1: out[200] = 1; break;
        default: out[201] = 2; break;
    }
    out[threadIdx.x] = t[0];
}
__global__ void builtin(int* out) {
    if (out[threadIdx.x] == 0 && threadIdx.x != 5) __builtin_amdgcn_s_barrier();  // PLANTED divergent-barrier
    out[threadIdx.x] = 1;
}

int main() {
    int* a;
    hipMalloc(&a, 4096);
    hipMemset(a, 0, 4096);
    half_the_lanes<<<1, 64>>>(a);
    early_return<<<1, 64>>>(a, 60);
    one_wave_leaves<<<1, 256>>>(a);
    two_sides<<<1, 128>>>(a);
    lanes_on_two_sides<<<1, 64>>>(a);
    in_a_loop<<<1, 64>>>(a);
    waves_loop_unequally<<<1, 128>>>(a);
    guarded_tile<<<2, 128>>>(a, 180);
    in_a_switch<<<1, 64>>>(a);
    hipMemset(a, 0, 4096);
    builtin<<<1, 64>>>(a);
    return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
