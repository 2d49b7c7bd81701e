// facts: {"launches": [[[65536, 1, 1], [256, 1, 1]]], "disjoint": ["out"]}
#include <hip/hip_runtime.h>
__global__ void k(const int* __restrict__ in, int* out, int* __restrict__ twice, int n, unsigned m)
{
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	if (i < n)
		{
			const bool loop_runs = static_cast<unsigned>(i) < m;
			int out_value{};
			if (loop_runs) out_value = out[i];
			for (unsigned k = i; k < m; k += 7) {
				out_value += in[k];
				if (in[k] > 5) break;
				out_value ^= in[k + 1];
			}
			if (loop_runs) out[i] = out_value;
		}
	int twice_value = twice[i];
	do {
		twice_value = 2 * twice_value + 1;
	} while (in[i] > twice_value);
	twice[i] = twice_value;
}
