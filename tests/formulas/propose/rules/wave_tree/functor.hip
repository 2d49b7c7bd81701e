// facts: {"launches": [[[65536, 1, 1], [256, 1, 1]]], "written": 256}
#include <hip/hip_runtime.h>
#include <cstdint>
template <typename T, typename F>
__global__ void k(const T* in, T* out, const F op, T zero, uint32_t n) {
    extern __shared__ T shared[];
    const uint32_t tid = threadIdx.x, gid = blockIdx.x * blockDim.x + tid;
    shared[tid] = gid < n ? in[gid] : zero;
    __syncthreads();
    for (uint32_t i = blockDim.x / 2; i != 0; i /= 2) {
        if (tid < i)
            shared[tid] = op(shared[tid], shared[tid + i]);
        __syncthreads();
    }
    if (tid == 0) out[blockIdx.x] = shared[0];
}
struct Plus { __device__ float operator()(float a, float b) const { return a + b; } };
template __global__ void k<float, Plus>(const float*, float*, Plus, float, uint32_t);
