// facts: {"launches": [[[512, 512, 1], [16, 16, 1], {"K": 512}]], "disjoint": ["A", "B", "C"]}
#include <hip/hip_runtime.h>

__global__ void gemm(int K, float alpha, float* A, float* B, float beta, float* C) {
	size_t x = blockIdx.x * blockDim.x + threadIdx.x;
	size_t y = blockIdx.y * blockDim.y + threadIdx.y;
	size_t at = y * gridDim.x * blockDim.x + x;
	float acc = beta * C[at];
	// Steps of whole tiles: the workgroup loads each element once, into LDS. The loop below makes the rest.
	constexpr int tile_k = 16;
	__shared__ float A_tile[tile_k][16];
	__shared__ float B_tile[tile_k][16 + 1];  // padded: a column lies in different banks
	int first_k = 0;
	if (blockDim.x == 16 && blockDim.y == 16 && blockDim.z == 1) {
		for (; first_k + tile_k <= K; first_k += tile_k) {
			for (unsigned place = threadIdx.x + 16 * threadIdx.y; place < 16 * tile_k; place += 256) {
				const unsigned step = place / 16, thread_y = place % 16;
				const int A_k = first_k + step;
				size_t A_y = blockIdx.y * blockDim.y + thread_y;
				A_tile[step][thread_y] = A[A_y + A_k * K];
			}
			for (unsigned place = threadIdx.x + 16 * threadIdx.y; place < 16 * tile_k; place += 256) {
				const unsigned thread_x = place / tile_k, step = place % tile_k;
				const int B_k = first_k + step;
				size_t B_x = blockIdx.x * blockDim.x + thread_x;
				B_tile[step][thread_x] = B[B_x * K + B_k];
			}
			__syncthreads();
			#pragma unroll
			for (int step = 0; step < tile_k; ++step) {
				acc += alpha * A_tile[step][threadIdx.y] * B_tile[step][threadIdx.x];
			}
			__syncthreads();
		}
	}
	for (int k = first_k; k < K; k++) {
		acc += alpha * A[y + k * K] * B[x * K + k];
	}
	C[at] = acc;
}
