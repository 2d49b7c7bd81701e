// All workgroups of a cooperative launch meet at grid.sync() several times and read each other's values.
#include "check.hpp"

#include <hip/hip_cooperative_groups.h>

namespace cg = cooperative_groups;

__global__ void exchange(int* a, int* b, int n) {
    cg::grid_group grid = cg::this_grid();
    const int i = static_cast<int>(blockIdx.x * blockDim.x + threadIdx.x);
    for (int round = 0; round < 4; ++round) {
        a[i] = i + round;
        grid.sync();
        b[i] = a[(i + 256 * 3 + 7) % n];
        grid.sync();
    }
}

int main() {
    int n = 256 * 12;
    const Device<int> a(static_cast<std::size_t>(n)), b(static_cast<std::size_t>(n));
    int *from = a.data, *to = b.data;
    void* arguments[] = {&from, &to, &n};
    must(hipLaunchCooperativeKernel(reinterpret_cast<void*>(exchange), dim3(12), dim3(256), arguments, 0, nullptr), "launch");
    const std::vector<int> result = b.read();
    for (int i = 0; i < n; ++i) {
        if (result[static_cast<std::size_t>(i)] != (i + 256 * 3 + 7) % n + 3) {
            std::printf("FAIL: element %d is %d\n", i, result[static_cast<std::size_t>(i)]);
            return 1;
        }
    }
    std::puts("PASS");
    return 0;
}
