// facts: {"launches": [[[256, 256, 64], [32, 4, 2]]], "xcds": 8}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int width, int height, int depth) {
    // Workgroups are dealt round-robin to 8 XCDs: neighbours are to share the L2 of one.
    const unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
    const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned xcd = block % 8, rank = block / 8;
    const unsigned groups_per_xcd = blocks / 8, rest = blocks % 8;
    const unsigned group = xcd * groups_per_xcd + (xcd < rest ? xcd : rest) + rank;
    const unsigned block_x = group % gridDim.x;
    const unsigned block_y = group / gridDim.x % gridDim.y;
    const unsigned block_z = group / gridDim.x / gridDim.y;
    const int x = block_x * blockDim.x + threadIdx.x;
    const int y = block_y * blockDim.y + threadIdx.y;
    const int z = block_z * blockDim.z + threadIdx.z;
    if (x < width && y < height && z > 0 && z < depth) {
        const int i = (z * height + y) * width + x;
        out[i] = in[i] + in[i - width * height];
    }
}
