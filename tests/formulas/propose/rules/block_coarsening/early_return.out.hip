// facts: {"launches": [[[65536, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* sum, int n)
{
	// The first workgroups do the work of up to 4; the others have none.
	const unsigned working_blocks = (gridDim.x + 3) / 4;
	if (blockIdx.x >= working_blocks) return;
	float block_sum = 0.0f;
	float block_sum_2 = 0.0f;
	for (unsigned block = blockIdx.x; block < gridDim.x; block += working_blocks) {
		int i = block * hipBlockDim_x + hipThreadIdx_x;
		if (i >= n) continue;
		if (in[i] > 0.0f) {
			block_sum += in[i];
			continue;
		}
		block_sum_2 += in[i];
	}

	// Add up within each wave, then over the waves of the workgroup: one atomic is left.
	const unsigned thread_in_block = threadIdx.x + blockDim.x * (threadIdx.y + blockDim.y * threadIdx.z);
	const unsigned threads_of_block = blockDim.x * blockDim.y * blockDim.z;
	for (unsigned offset = warpSize / 2; offset > 0; offset /= 2) {
		const float other_1 = __shfl_down(block_sum, offset);
		if (thread_in_block + offset < threads_of_block) block_sum += other_1;
		const float other_2 = __shfl_down(block_sum_2, offset);
		if (thread_in_block + offset < threads_of_block) block_sum_2 += other_2;
	}
	// By wave: 1024 threads at most, in waves of 32 or more.
	__shared__ float wave_sums[32];
	__shared__ float wave_sums_2[32];
	if (thread_in_block % warpSize == 0) {
		wave_sums[thread_in_block / warpSize] = block_sum;
		wave_sums_2[thread_in_block / warpSize] = block_sum_2;
	}
	__syncthreads();
	if (thread_in_block == 0) {
		for (unsigned wave = 1; wave * warpSize < threads_of_block; ++wave) {
			block_sum += wave_sums[wave];
			block_sum_2 += wave_sums_2[wave];
		}
		if (block_sum != 0) atomicAdd(&sum[0], block_sum);
		if (block_sum_2 != 0) atomicAdd(&sum[1], block_sum_2);
	}
}
