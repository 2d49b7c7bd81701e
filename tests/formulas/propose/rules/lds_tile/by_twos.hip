// facts: {"launches": [[[256, 256, 1], [16, 16, 1], {"width": 64}]]}
#include <hip/hip_runtime.h>

__global__ void product(const double* __restrict__ left, const double* __restrict__ right, double* out, int width) {
    int x = blockIdx.x * 16 + threadIdx.x;
    int y = blockIdx.y * 16 + threadIdx.y;
    double sum = 0;
    for (int layer = 0; layer < 3; layer++) {
        double part = 0;
        for (int k = 0; k <= width - 2; k += 2) {
            const int from = y * width + k;
            part += left[from] * right[k * 256 + x];
            part -= left[from + 1] * right[(k + 1) * 256 + x] * k;
        }
        sum = sum * part + part;
    }
    out[y * 256 + x] = sum;
}
