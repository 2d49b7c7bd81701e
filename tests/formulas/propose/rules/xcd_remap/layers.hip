// facts: {"launches": [[[256, 256, 64], [32, 4, 2]]], "xcds": 8}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int width, int height, int depth) {
    const int x = blockIdx.x * blockDim.x + threadIdx.x;
    const int y = blockIdx.y * blockDim.y + threadIdx.y;
    const int z = blockIdx.z * blockDim.z + threadIdx.z;
    if (x < width && y < height && z > 0 && z < depth) {
        const int i = (z * height + y) * width + x;
        out[i] = in[i] + in[i - width * height];
    }
}
