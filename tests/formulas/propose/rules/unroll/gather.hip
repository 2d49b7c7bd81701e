// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void k(const int* next, const float* in, float* out, int n, int steps) {
	const int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n) {
		float sum = 0.0f;
		for (int s = 0; s < steps; ++s) {
			sum += in[next[s * n + i]];
		}
		for (int s = 0; s < 4; ++s) sum += in[s];
		out[i] = sum;
	}
}
