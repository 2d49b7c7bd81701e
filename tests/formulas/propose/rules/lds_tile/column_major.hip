// facts: {"launches": [[[512, 512, 1], [16, 16, 1], {"K": 512}]], "disjoint": ["A", "B", "C"]}
#include <hip/hip_runtime.h>

__global__ void gemm(int K, float alpha, float* A, float* B, float beta, float* C) {
	size_t x = blockIdx.x * blockDim.x + threadIdx.x;
	size_t y = blockIdx.y * blockDim.y + threadIdx.y;
	size_t at = y * gridDim.x * blockDim.x + x;
	float acc = beta * C[at];
	for (int k = 0; k < K; k++) {
		acc += alpha * A[y + k * K] * B[x * K + k];
	}
	C[at] = acc;
}
