// Vector loads: a copy by 1 byte, then by 16.
#include "pair.hpp"

__global__ void before(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) reinterpret_cast<unsigned char*>(out)[i] = reinterpret_cast<const unsigned char*>(in)[i];
}

__global__ void after(const float* in, const int* index, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n / 16) reinterpret_cast<float4*>(out)[i] = reinterpret_cast<const float4*>(in)[i];
}

PAIR((Sizes{1 << 20, 1 << 20, 1 << 22}), (Call{before, dim3(16384), dim3(256)}), (Call{after, dim3(1024), dim3(256)}))
