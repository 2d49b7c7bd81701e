// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>

namespace grid {
    // `(value % size + size) % size`, which divides only what lies more than one `size` away.
    template <typename T>
    static __device__ T wrapped(T value, T size) {
        if (size > 0 && size < (1 << 30)) {
            const T near = value < 0 ? value + size : value < size ? value : value - size;
            if (near >= 0 && near < size) return near;
        }
        return (value % size + size) % size;
    }

    // `value % size`, which divides only what lies more than one `size` away.
    template <typename T>
    static __device__ T remainder_near(T value, T size) {
        if (size > 0) {
            const T near = value < size ? value : value - size;
            if (near >= 0 && near < size) return near;
        }
        return value % size;
    }

    __global__ void shifted(const float* u, float* v, const int* by, int n) {
        const int i = blockIdx.x * blockDim.x + threadIdx.x;
        const int shift = by[i];
        v[i] = u[wrapped(i + shift, n)] + u[wrapped(shift, n)] + u[remainder_near(shift + 1, n)];
    }
}
