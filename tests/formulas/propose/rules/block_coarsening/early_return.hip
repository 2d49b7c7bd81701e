// facts: {"launches": [[[65536, 1, 1], [256, 1, 1]]]}
#include <hip/hip_runtime.h>
__global__ void k(const float* in, float* sum, int n)
{
	int i = hipBlockIdx_x * hipBlockDim_x + hipThreadIdx_x;
	if (i >= n) return;
	if (in[i] > 0.0f) {
		atomicAdd(&sum[0], in[i]);
		return;
	}
	atomicAdd(&sum[1], in[i]);
}
