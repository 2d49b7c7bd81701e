// facts: {"launches": [[[256, 256, 64], [16, 16, 1], {"n": 250, "taps": 9}]]}
#include <hip/hip_runtime.h>

__global__ void layers(const float* in, const float* weights, float* out, int* large, int n, int taps, float limit) {
	// Each thread computes the outputs of 4 workgroups along z; the last ones have none.
	constexpr unsigned outputs = 4;
	if (blockIdx.z >= (gridDim.z + outputs - 1) / outputs) return;
	unsigned block_z[outputs];
	bool inside[outputs];
	#pragma unroll
	for (unsigned t = 0; t < outputs; ++t) {
		inside[t] = blockIdx.z * outputs + t < gridDim.z;
		block_z[t] = blockIdx.z * outputs + (inside[t] ? t : 0);
	}
	const int x = blockIdx.x * blockDim.x + threadIdx.x, y = blockIdx.y * blockDim.y + threadIdx.y;
	if (x >= n || y >= n) return;
	const float *layer[outputs];
	float sums[outputs][2] = {};
	int count[outputs];
	#pragma unroll
	for (unsigned t = 0; t < outputs; ++t) {
		layer[t] = in + block_z[t] * n * n;
		count[t] = 0;  // of large ones
	}
	if (taps > 0) {
		for (int i = 0; i < taps; ++i) {
			#pragma unroll
			for (unsigned t = 0; t < outputs; ++t) {
				sums[t][i & 1] += weights[i] * layer[t][(y * n + x + i) % (n * n)];
			}
		}
	}
	for (int i = 0; i < 2; ++i) {
		#pragma unroll
		for (unsigned t = 0; t < outputs; ++t) {
			if (sums[t][i] > limit) ++count[t];
		}
	}
	#pragma unroll
	for (unsigned t = 0; t < outputs; ++t) {
		if (inside[t]) {
			if (count[t] > 0) out[(block_z[t] * n + y) * n + x] = sums[t][0] + sums[t][1];
			else out[(block_z[t] * n + y) * n + x] = 0.0f;
		}
		if (inside[t]) atomicAdd(large, count[t]);
	}
}
