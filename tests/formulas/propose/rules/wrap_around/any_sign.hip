// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>

namespace grid {
    __global__ void shifted(const float* u, float* v, const int* by, int n) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        const int shift = by[i];
        v[i] = u[((i + shift) % n + n) % n] + u[(n + (shift % n)) % n] + u[(shift + 1) % n];
    }
}
