// Device code of host_program.cpp. Compiled for the device alone, without HIP's headers.
#define __global__ __attribute__((global))
#define __device__ __attribute__((device))

__device__ int calls = 0;

static __device__ int item() { return __builtin_amdgcn_workgroup_id_x() * 64 + __builtin_amdgcn_workitem_id_x(); }

extern "C" __global__ void scale(const float* in, float* out, float by, int n) {
    const int i = item();
    if (i < n) out[i] = by * in[i];
}

extern "C" __global__ void copy(const float* in, float* out, int n) {
    const int i = item();
    if (i < n) out[i] = in[i];
}

extern "C" __global__ void gather(float* const* rows, float* sum, int n) {
    const int i = item();
    if (i < n) sum[i] = rows[0][i] + rows[1][i] + rows[2][i] + static_cast<float>(calls);
    if (i == 255) calls = 1;
}

extern "C" __global__ void spin(int* flag) {
    while (__atomic_load_n(flag, __ATOMIC_ACQUIRE) == 0) __builtin_amdgcn_s_sleep(1);
}
