// One defect per kernel, on the lines that say PLANTED; the class is the word after it.
#include <hip/hip_runtime.h>

__global__ void load_int(const char* in, int* out) {
    out[threadIdx.x] = *(const int*)(in + threadIdx.x * 4 + 1);  // PLANTED misaligned
}
__global__ void store_int(char* out) {
    *(int*)(out + threadIdx.x * 4 + 2) = 1;  // PLANTED misaligned
}
__global__ void load_short(const char* in, short* out) {
    out[threadIdx.x] = *(const short*)(in + threadIdx.x * 2 + 1);  // PLANTED misaligned
}
__global__ void load_float4(const char* in, float4* out) {
    out[threadIdx.x] = *(const float4*)(in + threadIdx.x * 16 + 2);  // PLANTED misaligned
}
__global__ void lds_double(double* out, int n) {
    __shared__ char t[1024];
    for (int i = threadIdx.x; i < 1024; i += 64) t[i] = i;
    __syncthreads();
    out[threadIdx.x] = *(double*)(t + threadIdx.x * 8 + n);  // PLANTED misaligned
}
__global__ void lds_float4(float4* out, int n) {
    __shared__ float t[512];
    for (int i = threadIdx.x; i < 512; i += 64) t[i] = i;
    __syncthreads();
    out[threadIdx.x] = *(float4*)(t + threadIdx.x * 4 + n);  // PLANTED misaligned
}
__global__ void lds_store(int* out, int n) {
    __shared__ double t[128];
    for (int i = threadIdx.x; i < 128; i += 64) t[i] = i;
    __syncthreads();
    *(double*)((char*)t + threadIdx.x * 8 + n) = 3;  // PLANTED misaligned
    __syncthreads();
    out[threadIdx.x] = (int)t[threadIdx.x];
}
__global__ void lds_atomic(int* out, int n) {
    __shared__ int t[128];
    for (int i = threadIdx.x; i < 128; i += 64) t[i] = i;
    __syncthreads();
    atomicAdd((int*)((char*)t + n), 1);  // PLANTED misaligned
    __syncthreads();
    out[threadIdx.x] = t[threadIdx.x];
}
__global__ void global_atomic(char* out, int n) {
    atomicAdd((int*)(out + n), 1);  // PLANTED misaligned
}
__global__ void global_atomic_64(char* out, int n) {
    atomicAdd((unsigned long long*)(out + 4 * n), 1ull);  // PLANTED misaligned
}
__global__ void private_int(int* out, int n) {
    volatile char local[64];
    for (int i = 0; i < 64; ++i) local[i] = i;
    out[threadIdx.x] = *(volatile int*)(local + n);  // PLANTED misaligned
}
struct __attribute__((packed)) Packed {
    char tag;
    int value;
    double number;
};
__global__ void clean_packed(const Packed* in, double* out) { out[threadIdx.x] = in[threadIdx.x].value + in[threadIdx.x].number; }
__global__ void clean_copy(const char* in, int* out, int n) {
    __shared__ char t[512];
    for (int i = threadIdx.x; i < 512; i += 64) t[i] = in[i];
    __syncthreads();
    int4 value;
    __builtin_memcpy(&value, t + threadIdx.x + n, 16);
    int plain;
    __builtin_memcpy(&plain, in + threadIdx.x + n, 4);
    out[threadIdx.x] = value.x + value.w + plain;
}

int main() {
    char* a;
    double* b;
    hipMalloc(&a, 4096);
    hipMalloc(&b, 4096);
    hipMemset(a, 0, 4096);
    hipMemset(b, 0, 4096);
    load_int<<<1, 64>>>(a, (int*)b);
    store_int<<<1, 64>>>(a);
    load_short<<<1, 64>>>(a, (short*)b);
    load_float4<<<1, 64>>>(a, (float4*)b);
    lds_double<<<1, 64>>>(b, 4);
    lds_float4<<<1, 64>>>((float4*)b, 1);
    lds_store<<<1, 64>>>((int*)b, 4);
    lds_atomic<<<1, 64>>>((int*)b, 2);
    global_atomic<<<1, 64>>>(a, 2);
    global_atomic_64<<<1, 64>>>(a, 1);
    private_int<<<1, 64>>>((int*)b, 3);
    clean_packed<<<1, 64>>>((const Packed*)a, b);
    clean_copy<<<1, 64>>>(a, (int*)b, 1);
    return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
