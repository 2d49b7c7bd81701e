// facts: {"launches": [[[1024, 1, 1], [256, 1, 1], {}, {}]], "promised": []}
#include <hip/hip_runtime.h>

__global__ void k(const float *__restrict__ in, const int *__restrict__ order, float *__restrict__ out, int planes,
                  int pitch)
{
    __shared__ float plane[2 * 256];
    int here = blockIdx.x * blockDim.x + threadIdx.x;
    int firstPlane = 0;
    bool active = here < pitch;
    while (firstPlane < planes)
    {
        if (active) {
            int number = order[firstPlane];
            plane[threadIdx.x] = plane[256 + threadIdx.x];
            if (number < planes)
                plane[256 + threadIdx.x] = in[number * pitch + here];
            here += pitch;
        }
        __syncthreads();
        if (active && firstPlane > 0)
            out[here - pitch] = plane[threadIdx.x] + plane[256 + (threadIdx.x ^ 1)];
        __syncthreads();
        firstPlane++;
    }
}
