// facts: {"launches": [[[4096, 1, 1], [256, 1, 1], {"n": 4096, "taps": 5}]]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, const float* weights, float* out, int n, int taps) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i + taps > n) return;
    float sum = 0.0f;
    if (taps == 5) {  // the usual length
        #pragma unroll
        for (int t = 0; t < 5; ++t) {
			if (in[i + t] > 0.0f)
				sum += weights[t] * in[i + t];
        }
    } else {
        for (int t = 0; t < taps; ++t) {
			if (in[i + t] > 0.0f)
				sum += weights[t] * in[i + t];
        }
    }
    out[i] = sum;
}
