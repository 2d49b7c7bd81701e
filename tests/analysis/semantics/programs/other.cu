__global__ void included_kernel(float* p) { p[threadIdx.x] *= 2.0f; }
