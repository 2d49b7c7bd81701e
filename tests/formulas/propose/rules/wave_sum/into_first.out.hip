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
    // The first wave adds up what one thread would add up alone.
    int wave_sum = 0;
    if (tid < warpSize) {
        for (unsigned i = 1 + tid; i < blockDim.x; i += warpSize) {
            wave_sum += result[i];
        }
        for (int offset = warpSize / 2; offset > 0; offset /= 2) {
            wave_sum += __shfl_down(wave_sum, offset);
        }
    }
    if (!tid) {
        result[0] += wave_sum;
        out[blockIdx.x] = result[0];
        done[blockIdx.x] = 1;
    }
}
