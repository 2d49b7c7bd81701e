// facts: {"launches": [[[4096, 1, 1], [256, 1, 1]]], "disjoint": ["keys", "dist", "count", "flag"]}
#include <hip/hip_runtime.h>
#define NONE 0xffffffffu
__global__ void k(const unsigned *in, unsigned *keys, int *dist, unsigned *count, int *flag, int capacity) {
	int i = blockIdx.x * blockDim.x + threadIdx.x;
	unsigned key = in[i], slot = key % capacity;
	while (true) {
		unsigned old = atomicCAS(&keys[slot], NONE, key);
		if (old == NONE || old == key) break;
		slot = (slot + 1) % capacity;
	}
	atomicAdd(&count[slot], 1u);
	int next = dist[i] + 1;
	int before = atomicMin(&dist[slot], next);
	if (next < before) atomicExch(flag, 1);
}
