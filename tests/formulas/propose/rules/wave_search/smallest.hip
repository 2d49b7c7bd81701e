// facts: {"launches": [[[4096, 1, 1], [128, 1, 1], {}]], "written": 128}
#include <hip/hip_runtime.h>

__global__ void k(const int* in, int* least, int* where) {
	__shared__ int own[128];
	const int tid = threadIdx.x;
	own[tid] = in[blockIdx.x * blockDim.x + tid];
	__syncthreads();
	if (tid == 0) {
		int smallest = own[0];
		int index = 0;
		for (unsigned i = 1; i <= blockDim.x - 1; i++) {
			if (smallest > own[i]) {
				index = i;
				smallest = own[i];
			}
		}
		least[blockIdx.x] = smallest;
		where[blockIdx.x] = index;
	}
}
