// facts: {"launches": [[[1024, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
#include <hip/hip_cooperative_groups.h>
namespace app {
    __global__ void nearLargest(double* largest, const double* in, int lanes) {
        auto tile = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());
        const int at = blockIdx.x * blockDim.x + threadIdx.x;
        double most = in[at];
        most = max(most, __shfl_xor(most, 16));
        most = max(most, __shfl_xor(most, 4, 8));
        most = max(most, tile.shfl_xor(__shfl_xor(most, 0x2, lanes), 1));
        largest[at] = most;
    }
}  // namespace app
