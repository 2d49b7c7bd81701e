#include <hip/hip_runtime.h>

#include "header_kernel.h"
#include "other.cu"
#include "lib/vendored.h"

using data_t = double;
typedef data_t sample_t;

__global__ void alias_kernel(const sample_t* input, data_t* result, int n) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) unsafeAtomicAdd(result, input[i]);
}

__global__ void auto_kernel(const float* in, float* out) {
    auto value = in[threadIdx.x];
    auto* target = out + 4;
    target[threadIdx.x] = value;
}

template <typename T, int N = 4, bool Fast = false>
__global__ void default_kernel(T* data) {
    for (int i = 0; i < N; ++i) data[i] += T(1);
    if constexpr (Fast) data[N] = T(0);
}

template <typename Traits>
__global__ void traits_kernel(const typename Traits::value_type* p, typename Traits::value_type* q) {
    for (int j = 0; j < Traits::count; j += 2) q[j] = p[j];
}
struct HalfTraits { using value_type = float; static constexpr int count = 64; };

#define MAKE_KERNEL(name, type) \
    __global__ void name(type* p) { p[threadIdx.x] = p[threadIdx.x + 1]; }
MAKE_KERNEL(macro_kernel, double)

namespace outer { namespace inner {
constexpr int kWidth = 32;
constexpr int kPad = 1;
__global__ void space_kernel(int* p) {
    __shared__ float tile[kWidth][kWidth + kPad];
    tile[threadIdx.y][threadIdx.x] = 1.0f;
    p[0] = int(tile[0][1]);
}
} }

struct Matrix {
    float* p;
    int ld;
    __device__ float& operator()(int i, int j) { return p[i * ld + j]; }
    __device__ float operator[](int i) const { return p[i]; }
};
__global__ void operator_kernel(Matrix m, float* out) {
    m(threadIdx.x, 2) = 3.0f;
    out[1] = m[4];
    out[2] = m.p[5];
}

template <typename F>
__global__ void launch_kernel(int n, F f) {
    if (int(threadIdx.x) < n) f(threadIdx.x);
}

constexpr int kTable[4] = {2, 3, 5, 7};
__constant__ float coefficients[16];
__device__ int counter;
__global__ void table_kernel(float* p) {
    p[kTable[3]] = coefficients[threadIdx.x];
    counter = 1;
}

struct Bodies { float* x; float* y; const int* kind; };
__global__ void arrays_kernel(Bodies b, int n) {
    b.x[n] += b.y[n + 1] * b.kind[n];
}

__global__ void vector_kernel(float4* a, const float4* b) {
    a[0].y = 1.0f;
    float4 v = b[1];
    a[2] = v;
    a[3].x += b[4].w;
}

extern __shared__ unsigned char scratch[];
__global__ void dynamic_kernel(float* p) {
    float* part = reinterpret_cast<float*>(scratch);
    part[threadIdx.x] = p[0];
}

__device__ float row_sum(const float* base, int row, int ld) {
    const float* p = base + row * ld;
    return p[threadIdx.x];
}
__global__ void helper_kernel(const float* data, float* out) { out[0] = row_sum(data, 1, 2); }

int main() {
    double* d = nullptr;
    float* f = nullptr;
    int* n = nullptr;
    dim3 block(16, 16);
    alias_kernel<<<4, 256>>>(d, d, 3);
    auto_kernel<<<dim3(1), block>>>(f, f);
    default_kernel<float><<<1, 64>>>(f);
    default_kernel<double, 8, true><<<1, 64>>>(d);
    traits_kernel<HalfTraits><<<1, 1>>>(f, f);
    hipLaunchKernelGGL(macro_kernel, dim3(1), dim3(64), 0, 0, d);
    outer::inner::space_kernel<<<1, 1>>>(n);
    operator_kernel<<<1, 64>>>(Matrix{f, 4}, f);
    launch_kernel<<<1, 32>>>(4, [=] __device__(int i) { d[i] = 2.0; });
    table_kernel<<<1, 4>>>(f);
    arrays_kernel<<<1, 1>>>(Bodies{f, f, n}, 3);
    vector_kernel<<<1, 1>>>(nullptr, nullptr);
    dynamic_kernel<<<1, 64, 256>>>(f);
    helper_kernel<<<1, 64>>>(f, f);
    header_kernel<int, 3><<<1, 64>>>(n);
    included_kernel<<<1, 64>>>(f);
    auto one = alias_kernel;
    one<<<2, 128>>>(d, d, 3);
}
