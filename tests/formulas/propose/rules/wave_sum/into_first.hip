// facts: {"launches": [[[65536, 1, 1], [256, 1, 1]]], "written": 256}
#include <hip/hip_runtime.h>
__global__ void k(const int* in, int* done, int* out, int n) {
    __shared__ int result[256];
    unsigned tid = threadIdx.x;
    if (done[blockIdx.x] != 0) return;
    result[tid] = 0;
    for (int i = tid; i < n; i += 256)
        result[tid] += in[blockIdx.x * n + i];
    __syncthreads();
    if (!tid) {
        for (unsigned i = 1; i < blockDim.x; ++i)
            result[0] += result[i];
        out[blockIdx.x] = result[0];
        done[blockIdx.x] = 1;
    }
}
