// The kernels whose hardware counters on a real MI300X are in counters.csv, at the sizes they were measured at.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>

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

__global__ void vecCopy(double* a, double* b, double* c, int n, int stride) {
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id < n) c[id] = a[id];
}

__global__ void vectorAdd(const float* a, const float* b, float* c, int n) {
    const int id = blockIdx.x * blockDim.x + threadIdx.x;
    if (id < n) c[id] = a[id] + b[id];
}

// 2-byte elements: bf16 on the hardware, moved as bits.
__global__ void transpose(const unsigned short* in, unsigned short* out, int rows, int columns) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < columns && y < rows) out[x * rows + y] = in[y * columns + x];
}

int main() {
    const int n = 1 << 20;
    auto *a = device_array<double>(n), *b = device_array<double>(n), *c = device_array<double>(n);
    vecCopy<<<n / 256, 256>>>(a, b, c, n, 0);
    auto *fa = device_array<float>(n), *fb = device_array<float>(n), *fc = device_array<float>(n);
    vectorAdd<<<n / 256, 256>>>(fa, fb, fc, n);
    auto *in = device_array<unsigned short>(n), *out = device_array<unsigned short>(n);
    transpose<<<dim3(64, 64), dim3(16, 16)>>>(in, out, 1024, 1024);
    check(hipDeviceSynchronize());
}
