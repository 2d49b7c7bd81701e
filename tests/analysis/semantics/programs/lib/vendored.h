__device__ inline int vendored(const int* p) { return p[7]; }
