// facts: {"launches": [[[1024, 1024, 1], [32, 8, 1]]], "xcds": 8}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int width, int height) {
    // Workgroups are dealt round-robin to 8 XCDs: neighbours are to share the L2 of one.
    const unsigned blocks = gridDim.x * gridDim.y;
    const unsigned block = blockIdx.x + gridDim.x * blockIdx.y;
    const unsigned xcd = block % 8, rank = block / 8;
    const unsigned groups_per_xcd = blocks / 8, rest = blocks % 8;
    const unsigned group = xcd * groups_per_xcd + (xcd < rest ? xcd : rest) + rank;
    const unsigned block_x = group % gridDim.x;
    const unsigned block_y = group / gridDim.x;
    const int x = block_x * blockDim.x + threadIdx.x;
    const int y = block_y * blockDim.y + threadIdx.y;
    if (x < width && y < height) out[y * width + x] = in[y * width + x];
}
