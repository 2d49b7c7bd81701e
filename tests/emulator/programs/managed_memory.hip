// Managed variables and managed allocations that host and device use in turns, pinned and mapped host memory.
#include "check.hpp"

__managed__ int counter = 40;
__managed__ float table[8];

__global__ void use(int* managed, const int* pinned, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i >= n) return;
    managed[i] = managed[i] * 2 + pinned[i] + static_cast<int>(table[i % 8]);
    atomicAdd(&counter, 1);
}
int main() {
    const int n = 500;
    int *managed = nullptr, *pinned = nullptr, *seen = nullptr;
    must(hipMallocManaged(reinterpret_cast<void**>(&managed), n * sizeof(int), hipMemAttachGlobal), "managed");
    must(hipHostMalloc(reinterpret_cast<void**>(&pinned), n * sizeof(int), hipHostMallocMapped), "pinned");
    must(hipHostGetDevicePointer(reinterpret_cast<void**>(&seen), pinned, 0), "device pointer");
    for (int i = 0; i < n; ++i) managed[i] = i, pinned[i] = -3 * i;
    for (int i = 0; i < 8; ++i) table[i] = static_cast<float>(i * 10);
    std::vector<int> want(n);
    for (int i = 0; i < n; ++i) want[i] = i;
    for (int round = 0; round < 3; ++round) {
        use<<<2, 256>>>(managed, seen, n);
        must(hipDeviceSynchronize(), "use");
        for (int i = 0; i < n; ++i) {
            want[i] = want[i] * 2 - 3 * i + i % 8 * 10;
            expect("managed", i, managed[i], want[i]);
            managed[i] += round;
            want[i] += round;
        }
        expect("counter", round, counter, 40 + n * (round + 1));
    }
    must(hipFree(managed), "free");
    must(hipHostFree(pinned), "free pinned");
    return verdict();
}
