"""HIP without its headers, for tests of how something is built: a compile takes a tenth of the time.

A source begins with `PLAIN_HIP` and is compiled with `-nogpuinc`: without it the compiler reads headers of C++ for each
HIP source, whatever that includes.
"""

PLAIN_HIP = """\
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))
#define threadIdx dim3(__builtin_amdgcn_workitem_id_x())
#define blockIdx dim3(__builtin_amdgcn_workgroup_id_x())
#define blockDim dim3(__builtin_amdgcn_workgroup_size_x())
struct dim3 {
    unsigned x, y, z;
    constexpr dim3(unsigned x = 1, unsigned y = 1, unsigned z = 1) : x(x), y(y), z(z) {}
};
extern "C" unsigned __hipPushCallConfiguration(dim3, dim3, unsigned long = 0, void* = nullptr);
extern "C" int hipLaunchKernel(const void*, dim3, dim3, void**, unsigned long, void*);
"""
