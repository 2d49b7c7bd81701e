// facts: {"launches": [[[65536, 1, 1], [256, 1, 1]]], "disjoint": ["out"]}
#include <hip/hip_runtime.h>
__global__ void k(const int* __restrict__ in, int* out, int* __restrict__ twice, int n, unsigned m)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		for (unsigned k = i; k < m; k += 7) {
			out[i] += in[k];
			if (in[k] > 5) break;
			out[i] ^= in[k + 1];
		}
	do {
		twice[i] = 2 * twice[i] + 1;
	} while (in[i] > twice[i]);
}
