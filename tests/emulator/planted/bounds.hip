// One defect per kernel, on the lines that say PLANTED; the class is the word after it.
#include <hip/hip_runtime.h>

__global__ void past_the_end(int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = i;  // PLANTED out-of-bounds
}
__global__ void load_before(const int* in, int* out) {
    const int i = threadIdx.x;
    out[i] = in[i - 1];  // PLANTED out-of-bounds
}
__global__ void half_inside(const char* in, long* out) {
    out[threadIdx.x] = *(const long*)(in + threadIdx.x * 8);  // PLANTED out-of-bounds
}
__global__ void after_free(const float* in, float* out) {
    out[threadIdx.x] = in[threadIdx.x];  // PLANTED use-after-free
}
__global__ void store_after_free(float* out) {
    out[threadIdx.x] = 1;  // PLANTED use-after-free
}
__global__ void null_pointer(int* out) {
    out[threadIdx.x] = 1;  // PLANTED out-of-bounds
}
__global__ void lds_static(int* out) {
    __shared__ int tile[64];
    volatile int* t = tile;
    t[threadIdx.x + 32] = 1;  // PLANTED out-of-bounds
    __syncthreads();
    out[threadIdx.x] = t[threadIdx.x];
}
__global__ void lds_dynamic(int* out) {
    extern __shared__ int more[];
    more[threadIdx.x * 2] = 1;  // PLANTED out-of-bounds
    __syncthreads();
    out[threadIdx.x] = more[threadIdx.x];
}
__global__ void scratch(int* out, int n) {
    volatile int local[16];
    for (int i = 0; i < 16; ++i) local[i] = i;
    local[n * 1000] = 5;  // PLANTED out-of-bounds
    out[threadIdx.x] = local[threadIdx.x & 15];
}
struct Big {
    int values[8];
};
__global__ void arguments(int* out, Big big, int n) {
    out[threadIdx.x] = (&big.values[0])[threadIdx.x * n];  // PLANTED out-of-bounds
}
__global__ void atomic_past(int* out, int n) {
    atomicAdd(out + n, 1);  // PLANTED out-of-bounds
}
__global__ void scalar_load(const int* in, int* out, int n) {
    out[threadIdx.x] = in[n * 4096];  // PLANTED out-of-bounds
}

int main() {
    int *a, *b, *freed;
    hipMalloc(&a, 400);
    hipMalloc(&b, 4096);
    hipMalloc(&freed, 4096);
    hipMemset(a, 0, 400);
    hipMemset(b, 0, 4096);
    hipMemset(freed, 0, 4096);
    hipFree(freed);
    past_the_end<<<2, 64>>>(a, 100);
    load_before<<<1, 64>>>(b, a);
    half_inside<<<1, 64>>>((const char*)a, (long*)b);
    after_free<<<1, 64>>>((const float*)freed, (float*)b);
    store_after_free<<<1, 64>>>((float*)freed);
    null_pointer<<<1, 64>>>(nullptr);
    lds_static<<<1, 64>>>(b);
    lds_dynamic<<<1, 64, 256>>>(b);
    scratch<<<1, 64>>>(b, 1);
    arguments<<<1, 64>>>(b, Big{}, 100);
    atomic_past<<<1, 64>>>(a, 100);
    scalar_load<<<1, 64>>>(a, b, 1);
    return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
