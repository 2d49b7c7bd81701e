// More LDS than gfx942 has: 160 KiB in one workgroup, static and dynamic, reached by loads of one to four dwords.
#include "programs/check.hpp"

constexpr int words = 160 * 1024 / 4;
struct Three { float x, y, z; };

__global__ void dynamic(const float* in, float* out) {
    extern __shared__ __align__(16) float s[];
    for (int i = threadIdx.x; i < words; i += blockDim.x) s[i] = in[i] * 2;
    __syncthreads();
    for (int i = threadIdx.x; i < words / 4; i += blockDim.x) {
        const float4 v = reinterpret_cast<const float4*>(s)[words / 4 - 1 - i];
        reinterpret_cast<float4*>(out)[i] = make_float4(v.w, v.z, v.y, v.x);
    }
    for (int i = threadIdx.x; i < 100; i += blockDim.x) {
        const Three p = reinterpret_cast<const Three*>(s)[words / 3 - 1 - i];
        out[words + 3 * i] = p.x;
        out[words + 3 * i + 1] = p.y;
        out[words + 3 * i + 2] = p.z;
    }
}
__global__ void fixed(const float* in, float* out) {
    __shared__ float s[words];
    for (int i = threadIdx.x; i < words; i += blockDim.x) s[i] = in[i];
    __syncthreads();
    for (int i = threadIdx.x; i < words; i += blockDim.x) out[i] = s[words - 1 - i] + 1;
}
__global__ void counted(unsigned* out) {  // atomic operations at both ends
    extern __shared__ unsigned bins[];
    if (threadIdx.x < 2) bins[threadIdx.x * (words - 1)] = 0;
    __syncthreads();
    atomicAdd(&bins[threadIdx.x % 2 * (words - 1)], threadIdx.x);
    __syncthreads();
    if (threadIdx.x < 2) out[threadIdx.x] = bins[threadIdx.x * (words - 1)];
}

int main() {
    const Device<float> in(generate(words, [](std::size_t i) { return static_cast<float>(i); })), out(words + 300);
    const Device<unsigned> sums(2);
    hipFuncAttributes known{};
    must(hipFuncGetAttributes(&known, reinterpret_cast<const void*>(dynamic)), "attributes");
    expect("room", 0, known.maxDynamicSharedSizeBytes, words * 4);
    must(hipFuncSetAttribute(reinterpret_cast<const void*>(dynamic), hipFuncAttributeMaxDynamicSharedMemorySize, words * 4), "room");
    dynamic<<<2, 256, words * 4>>>(in.data, out.data);
    must(hipGetLastError(), "dynamic");
    const auto turned = out.read();
    for (int i = 0; i < words; ++i) expect("dynamic", i, turned[i], 2.F * (words - 1 - i));
    for (int i = 0; i < 300; ++i) expect("three", i, turned[words + i], 2.F * ((words / 3 - 1 - i / 3) * 3 + i % 3));
    fixed<<<2, 256>>>(in.data, out.data);
    const auto plus = out.read();
    for (int i = 0; i < words; ++i) expect("fixed", i, plus[i], static_cast<float>(words - i));
    counted<<<1, 256, words * 4>>>(sums.data);
    const auto ends = sums.read();
    expect("even", 0, ends[0], 127U * 128U);
    expect("odd", 0, ends[1], 128U * 128U);
    dynamic<<<2, 256, words * 4 + 4>>>(in.data, out.data);
    expect("too much", 0, static_cast<int>(hipGetLastError()), static_cast<int>(hipErrorInvalidConfiguration));
    return verdict();
}
