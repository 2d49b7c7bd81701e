// Kernels of the kinds that sanitizers.py measures beside the examples. Argument: which; each runs for a few hundredths of a second plainly.
#include <hip/hip_runtime.h>

#include <cstdio>
#include <cstdlib>
#include <functional>
#include <map>
#include <string>
#include <vector>

static void check(hipError_t error) {
    if (error == hipSuccess) return;
    std::printf("FAIL %s\n", hipGetErrorString(error));
    std::exit(1);
}

/// Zeros.
template <class T>
static T* device_array(size_t count) {
    T* pointer = nullptr;
    check(hipMalloc(reinterpret_cast<void**>(&pointer), count * sizeof(T)));
    check(hipMemset(pointer, 0, count * sizeof(T)));
    return pointer;
}

__device__ unsigned global_id() { return blockIdx.x * blockDim.x + threadIdx.x; }
__device__ unsigned next_random(unsigned state) { return state * 1664525U + 1013904223U; }

struct Body {
    double x, y, z, mass;
};

__global__ void tiled_product(const float* a, const float* b, float* c, int n) {
    __shared__ float left[16][16], right[16][16];
    const int x = blockIdx.x * 16 + threadIdx.x, y = blockIdx.y * 16 + threadIdx.y;
    float sum = 0;
    for (int k = 0; k < n; k += 16) {
        left[threadIdx.y][threadIdx.x] = a[y * n + k + threadIdx.x];
        right[threadIdx.y][threadIdx.x] = b[(k + threadIdx.y) * n + x];
        __syncthreads();
        for (int i = 0; i < 16; ++i) sum += left[threadIdx.y][i] * right[i][threadIdx.x];
        __syncthreads();
    }
    c[y * n + x] = sum;
}

__global__ void tiled_transpose(const float* in, float* out, int n) {
    __shared__ float tile[32][33];
    int x = blockIdx.x * 32 + threadIdx.x, y = blockIdx.y * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) tile[threadIdx.y + k][threadIdx.x] = in[(y + k) * n + x];
    __syncthreads();
    x = blockIdx.y * 32 + threadIdx.x;
    y = blockIdx.x * 32 + threadIdx.y;
    for (int k = 0; k < 32; k += 8) out[(y + k) * n + x] = tile[threadIdx.x][threadIdx.y + k];
}

__global__ void histogram_in_lds(unsigned* bins, int turns) {
    __shared__ unsigned own[256];
    own[threadIdx.x] = 0;
    __syncthreads();
    unsigned state = global_id();
    for (int k = 0; k < turns; ++k) {
        state = next_random(state);
        atomicAdd(&own[state >> 24], 1U);
    }
    __syncthreads();
    atomicAdd(&bins[threadIdx.x], own[threadIdx.x]);
}

__global__ void atomics_in_rows(unsigned* words, unsigned n, int turns) {
    for (int k = 0; k < turns; ++k) atomicAdd(&words[(global_id() + k * 64) & (n - 1)], 1U);
}

__global__ void random_atomics(unsigned* words, unsigned n, int turns) {
    unsigned state = global_id();
    for (int k = 0; k < turns; ++k) {
        state = next_random(state);
        atomicAdd(&words[(state >> 8) & (n - 1)], 1U);
    }
}

__global__ void strided_loads(const float* in, float* out, unsigned n) {
    const unsigned i = global_id();
    out[i] = in[(i * 33) & (n - 1)] * 2 + in[(i * 17) & (n - 1)];
}

__global__ void random_loads(const float* in, float* out, unsigned n) {
    const unsigned i = global_id();
    out[i] = in[(next_random(i) >> 8) & (n - 1)] + 1;
}

__global__ void structures_of_doubles(const Body* bodies, double* out, unsigned n) {
    const unsigned i = global_id();
    const Body own = bodies[i];
    double sum = 0;
    for (int k = 0; k < 64; ++k) {
        const Body other = bodies[(i * 7 + k * 13) & (n - 1)];
        const double dx = other.x - own.x, dy = other.y - own.y, dz = other.z - own.z;
        sum += other.mass * (dx * dx + dy * dy + dz * dz);
    }
    out[i] = sum;
}

__global__ void bytes(const unsigned char* in, unsigned char* out, int n) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
    if (x < 1 || y < 1 || x >= n - 1 || y >= n - 1) return;
    int sum = 0;
    for (int dy = -1; dy <= 1; ++dy)
        for (int dx = -1; dx <= 1; ++dx) sum += in[(y + dy) * n + x + dx];
    out[y * n + x] = sum / 9;
}

__global__ void streams_of_float4(const float4* a, const float4* b, float4* c, int n) {
    for (int i = global_id(); i < n; i += gridDim.x * blockDim.x) {
        const float4 x = a[i], y = b[i];
        c[i] = make_float4(x.x + 2 * y.x, x.y + 2 * y.y, x.z + 2 * y.z, x.w + 2 * y.w);
    }
}

__global__ void small_workgroups(int* out) {
    if (threadIdx.x == 0) out[blockIdx.x] = blockIdx.x;
}

__global__ void many_launches(int* counts) { counts[global_id()] += 1; }

int main(int argc, char** argv) {
    constexpr unsigned n = 1 << 20;
    auto *a = device_array<float>(n), *b = device_array<float>(n), *c = device_array<float>(n);
    auto* words = device_array<unsigned>(n);
    auto* signed_words = reinterpret_cast<int*>(words);
    const std::map<std::string, std::function<void()>> kinds = {
        {"tiled_product", [&] { tiled_product<<<dim3(16, 16), dim3(16, 16)>>>(a, b, c, 256); }},
        {"tiled_transpose", [&] { tiled_transpose<<<dim3(32, 32), dim3(32, 8)>>>(a, b, 1024); }},
        {"histogram_in_lds", [&] { histogram_in_lds<<<256, 256>>>(words, 64); }},
        {"atomics_in_rows", [&] { atomics_in_rows<<<256, 256>>>(words, 1 << 16, 32); }},
        {"random_atomics", [&] { random_atomics<<<256, 256>>>(words, 1 << 16, 32); }},
        {"strided_loads", [&] { strided_loads<<<n / 256, 256>>>(a, b, n); }},
        {"random_loads", [&] { random_loads<<<n / 256, 256>>>(a, b, n); }},
        {"structures_of_doubles",
         [&] { structures_of_doubles<<<128, 128>>>(reinterpret_cast<Body*>(a), reinterpret_cast<double*>(b), 16384); }},
        {"bytes",
         [&] {
             bytes<<<dim3(32, 128), dim3(32, 8)>>>(reinterpret_cast<unsigned char*>(a), reinterpret_cast<unsigned char*>(b), 1024);
         }},
        {"streams_of_float4",
         [&] {
             streams_of_float4<<<1024, 256>>>(reinterpret_cast<float4*>(a), reinterpret_cast<float4*>(b),
                                              reinterpret_cast<float4*>(c), n / 4);
         }},
        {"small_workgroups", [&] { small_workgroups<<<65536, 64>>>(signed_words); }},
        {"many_launches",
         [&] {
             for (int k = 0; k < 1000; ++k) many_launches<<<4, 64>>>(signed_words);
         }},
    };
    const auto kind = kinds.find(argc > 1 ? argv[1] : "");
    if (kind == kinds.end()) {
        for (const auto& [name, launch] : kinds) std::printf("%s\n", name.c_str());
        return argc > 1;
    }
    for (int k = 0; k < 4; ++k) kind->second();
    check(hipDeviceSynchronize());
}
