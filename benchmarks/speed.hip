// Kernels of different kinds for the measurements of emulator_speed.py: each is launched five times, `tiny` 300 times.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <vector>

static void check(hipError_t error) {
    if (error == hipSuccess) return;
    std::printf("FAIL %s\n", hipGetErrorString(error));
    std::exit(1);
}

template <class T>
static T* device_array(size_t count) {
    T* pointer = nullptr;
    check(hipMalloc(reinterpret_cast<void**>(&pointer), count * sizeof(T)));
    check(hipMemset(pointer, 0, count * sizeof(T)));
    return pointer;
}

__device__ int global_id() { return blockIdx.x * blockDim.x + threadIdx.x; }

__global__ void vadd(const float* a, const float* b, float* c, int n) {
    const int i = global_id();
    if (i < n) c[i] = a[i] + b[i];
}

__global__ void daxpy(const double* a, double* c, int n) {
    const int i = global_id();
    if (i < n) c[i] = 2.5 * a[i] + c[i];
}

__global__ void fma_loop(float* a, int steps) {
    const int i = global_id();
    float x = a[i], y = x;
    for (int k = 0; k < steps; ++k) {
        x = x * 1.0001f + 0.5f;
        y = y * 0.999f - x;
    }
    a[i] = x + y;
}

__global__ void f64_loop(double* a, int steps) {
    const int i = global_id();
    double x = a[i];
    for (int k = 0; k < steps; ++k) x = x * 1.0001 + 0.5;
    a[i] = x;
}

__global__ void transc(float* a, int steps) {
    const int i = global_id();
    float x = a[i];
    for (int k = 0; k < steps; ++k) x = __sinf(x) + __expf(x);
    a[i] = x;
}

__global__ void sqrtdiv(float* a, int steps) {
    const int i = global_id();
    float x = a[i];
    for (int k = 0; k < steps; ++k) x = 1.0f / sqrtf(x + 3.0f);
    a[i] = x;
}

__global__ void branchy(int* a, int most) {
    const int i = global_id();
    unsigned x = a[i] + i;
    int steps = 0;
    while (x > 1 && steps < most) {
        if (x & 1) x = 3 * x + 1;
        else x >>= 1;
        ++steps;
    }
    a[i] = steps;
}

__global__ void strided(const float* a, float* c, int n) {
    const int i = global_id();
    c[i] = a[(i * 33L) & (n - 1)];
}

__global__ void gather(const float* a, const int* index, float* c) {
    const int i = global_id();
    c[i] = a[index[i]];
}

__global__ void ldsred(const float* a, float* c) {
    __shared__ float sum[256];
    const int t = threadIdx.x;
    sum[t] = a[blockIdx.x * 256 + t];
    __syncthreads();
    for (int k = 128; k != 0; k >>= 1) {
        if (t < k) sum[t] += sum[t + k];
        __syncthreads();
    }
    if (t == 0) c[blockIdx.x] = sum[0];
}

__global__ void hist(const int* a, int* bins) { atomicAdd(&bins[a[global_id()] & 255], 1); }

__global__ void divergent(const int* a, float* c) {
    const int i = global_id();
    float x = i;
    if (a[i] & 1)
        for (int k = 0; k < 20; ++k) x = x * 1.5f + 1;
    else
        for (int k = 0; k < 30; ++k) x = x * 0.5f - 1;
    c[i] = x;
}

typedef float f4 __attribute__((ext_vector_type(4)));

__global__ void mfma(float* a, int steps) {
    f4 sum = {0, 0, 0, 0};
    for (int k = 0; k < steps; ++k) sum = __builtin_amdgcn_mfma_f32_16x16x4f32(threadIdx.x, 2.0f, sum, 0, 0, 0);
    a[blockIdx.x * 64 + threadIdx.x] = sum.x + sum.y;
}

__global__ void triad(const float4* a, const float4* b, float4* c, int n) {
    const int step = gridDim.x * blockDim.x;
    for (int i = global_id(); i < n; i += step) {
        const float4 x = a[i], y = b[i];
        c[i] = make_float4(x.x + 3 * y.x, x.y + 3 * y.y, x.z + 3 * y.z, x.w + 3 * y.w);
    }
}

__global__ void stencil(const float* a, float* c, int n) {
    const int i = global_id();
    if (i > 0 && i < n - 1) c[i] = 0.25f * a[i - 1] + 0.5f * a[i] + 0.25f * a[i + 1];
}

__global__ void matmul(const float* a, const float* b, float* c, int n) {
    __shared__ float left[16][16], right[16][16];
    const int x = threadIdx.x, y = threadIdx.y, column = blockIdx.x * 16 + x, row = blockIdx.y * 16 + y;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        left[y][x] = a[row * n + k + x];
        right[y][x] = b[(k + y) * n + column];
        __syncthreads();
        for (int j = 0; j < 16; ++j) sum += left[y][j] * right[j][x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}

__global__ void rowsum(const float* a, float* c, int n) {
    const int lane = threadIdx.x % 64, row = global_id() / 64;
    float sum = 0;
    for (int i = lane; i < n; i += 64) sum += a[row * n + i];
    for (int distance = 32; distance != 0; distance /= 2) sum += __shfl_down(sum, distance);
    if (lane == 0) c[row] = sum;
}

__global__ void tiny(float* a) { a[threadIdx.x] += 1; }

int main() {
    constexpr int n = 1 << 20;
    auto *a = device_array<float>(n), *b = device_array<float>(n), *c = device_array<float>(n);
    auto *index = device_array<int>(n), *q = device_array<int>(n);
    auto *d = device_array<double>(n), *e = device_array<double>(n);
    std::vector<int> random(n);
    unsigned state = 1;
    for (int& value : random) {
        state = state * 1664525U + 1013904223U;
        value = static_cast<int>((state >> 8U) & (n - 1));
    }
    check(hipMemcpy(index, random.data(), n * sizeof(int), hipMemcpyHostToDevice));
    for (int k = 0; k < 5; ++k) {
        vadd<<<n / 256, 256>>>(a, b, c, n);
        daxpy<<<n / 256, 256>>>(d, e, n);
        fma_loop<<<1024, 256>>>(a, 200);
        f64_loop<<<1024, 256>>>(d, 200);
        transc<<<512, 256>>>(a, 50);
        sqrtdiv<<<512, 256>>>(b, 50);
        branchy<<<512, 256>>>(q, 60);
        strided<<<n / 256, 256>>>(a, c, n);
        gather<<<n / 256, 256>>>(a, index, c);
        ldsred<<<n / 256, 256>>>(a, c);
        hist<<<n / 256, 256>>>(index, q);
        divergent<<<n / 256, 256>>>(index, c);
        mfma<<<1024, 64>>>(c, 64);
        triad<<<256, 256>>>(reinterpret_cast<float4*>(a), reinterpret_cast<float4*>(b), reinterpret_cast<float4*>(c), n / 4);
        stencil<<<n / 256, 256>>>(a, c, n);
        matmul<<<dim3(16, 16), dim3(16, 16)>>>(a, b, c, 256);
        rowsum<<<512, 256>>>(a, c, 512);
    }
    for (int k = 0; k < 300; ++k) tiny<<<1, 64>>>(a);
    check(hipDeviceSynchronize());
}
