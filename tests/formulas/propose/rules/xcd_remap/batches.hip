// facts: {"launches": [[[8192, 1, 4], [256, 1, 1]]], "xcds": 8}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[blockIdx.z * n + i] = in[blockIdx.z * n + n - 1 - i];
}
