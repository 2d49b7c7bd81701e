// facts: {"launches": [[[8192, 1, 4], [256, 1, 1]]], "xcds": 8}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* out, int n) {
    // Workgroups are dealt round-robin to 8 XCDs: neighbours are to share the L2 of one.
    const unsigned blocks = gridDim.x * gridDim.y * gridDim.z;
    const unsigned block = blockIdx.x + gridDim.x * (blockIdx.y + gridDim.y * blockIdx.z);
    const unsigned xcd = block % 8, rank = block / 8;
    const unsigned groups_per_xcd = blocks / 8, rest = blocks % 8;
    const unsigned group = xcd * groups_per_xcd + (xcd < rest ? xcd : rest) + rank;
    const unsigned block_x = group % gridDim.x;
    const unsigned block_z = group / gridDim.x / gridDim.y;
    const int i = block_x * blockDim.x + threadIdx.x;
    if (i < n) out[block_z * n + i] = in[block_z * n + n - 1 - i];
}
