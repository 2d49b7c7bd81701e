// facts: {"launches": [[[4096, 1, 1], [128, 1, 1], {}]], "written": 128}
#include <hip/hip_runtime.h>

__global__ void k(const int* in, int* least, int* where) {
	__shared__ int own[128];
	const int tid = threadIdx.x;
	own[tid] = in[blockIdx.x * blockDim.x + tid];
	__syncthreads();
	// The first wave looks through what one thread would look through alone; of equals the first one counts.
	int wave_smallest = own[0];
	int wave_index = 0;
	if (tid < warpSize) {
		const unsigned per_lane = (blockDim.x - 1 + warpSize - 1) / warpSize;
		const unsigned begin = 1 + tid * per_lane;
		for (unsigned i = begin; i <= blockDim.x - 1 && i < begin + per_lane; ++i) {
			if (own[i] < wave_smallest) {
				wave_smallest = own[i];
				wave_index = i;
			}
		}
		for (int offset = 1; offset < warpSize; offset *= 2) {
			const int other_smallest = __shfl_down(wave_smallest, offset);
			const int other_index = __shfl_down(wave_index, offset);
			if (other_smallest < wave_smallest) {
				wave_smallest = other_smallest;
				wave_index = other_index;
			}
		}
	}
	if (tid == 0) {
		int smallest = wave_smallest;
		int index = wave_index;
		least[blockIdx.x] = smallest;
		where[blockIdx.x] = index;
	}
}
