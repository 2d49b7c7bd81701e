// facts: {"launches": [[[256, 256, 64], [16, 16, 1], {"n": 250, "taps": 9}]]}
#include <hip/hip_runtime.h>

__global__ void layers(const float* in, const float* weights, float* out, int* large, int n, int taps, float limit) {
	const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= n || y >= n) return;
	const float* layer = in + blockIdx.z * n * n;
	float sums[2] = {0.0f};
	int count = 0;  // of large ones
	if (taps > 0) {
		for (int i = 0; i < taps; ++i)
			sums[i & 1] += weights[i] * layer[(y * n + x + i) % (n * n)];
	}
	for (int i = 0; i < 2; ++i) if (sums[i] > limit) ++count;
	if (count > 0) out[(blockIdx.z * n + y) * n + x] = sums[0] + sums[1];
	else out[(blockIdx.z * n + y) * n + x] = 0.0f;
	atomicAdd(large, count);
}
