// facts: {"launches": [[[1024, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
#include <hip/hip_cooperative_groups.h>
namespace app {
    // What `__shfl_xor` gives, on AMD GPUs: within rows of 16 lanes a DPP move brings it, without a way through LDS.
    static __device__ int xor_lane_word(int word, int mask, int width) {
        if (mask >= width) return __shfl_xor(word, mask, width);
        switch (mask) {
            case 1: return __builtin_amdgcn_mov_dpp(word, 0xB1, 0xF, 0xF, true);  // quad_perm:[1,0,3,2]
            case 2: return __builtin_amdgcn_mov_dpp(word, 0x4E, 0xF, 0xF, true);  // quad_perm:[2,3,0,1]
            case 4: {
                const int even = __builtin_amdgcn_update_dpp(0, word, 0x104, 0xF, 0x5, true);  // row_shl:4, even quads
                return __builtin_amdgcn_update_dpp(even, word, 0x114, 0xF, 0xA, true);  // row_shr:4, odd quads
            }
            case 8: return __builtin_amdgcn_mov_dpp(word, 0x128, 0xF, 0xF, true);  // row_ror:8
            default: return __shfl_xor(word, mask, width);
        }
    }

    template <typename T>
    static __device__ T xor_lane(T value, int mask, int width = warpSize) {
        int words[(sizeof(T) + sizeof(int) - 1) / sizeof(int)] = {};
        __builtin_memcpy(words, &value, sizeof(T));
        for (int& word : words) word = xor_lane_word(word, mask, width);
        __builtin_memcpy(&value, words, sizeof(T));
        return value;
    }

    __global__ void nearLargest(double* largest, const double* in, int lanes) {
        auto tile = cooperative_groups::tiled_partition<32>(cooperative_groups::this_thread_block());
        const int at = blockIdx.x * blockDim.x + threadIdx.x;
        double most = in[at];
        most = max(most, __shfl_xor(most, 16));
        most = max(most, xor_lane(most, 4, 8));
        most = max(most, xor_lane(xor_lane(most, 0x2, lanes), 1, tile.size()));
        largest[at] = most;
    }
}  // namespace app
