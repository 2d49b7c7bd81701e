// One use of an unwritten value per kernel, on the lines that say PLANTED.
#include <hip/hip_runtime.h>

__global__ void lds_never_written(int* out) {
    __shared__ int tile[64];
    volatile int* t = tile;
    if (threadIdx.x == 999) t[0] = 1;
    __syncthreads();
    out[threadIdx.x] = t[threadIdx.x];  // PLANTED uninitialised-read
}
__global__ void one_lane_missing(int* out) {
    __shared__ int tile[64];
    volatile int* t = tile;
    if (threadIdx.x != 5) t[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = t[threadIdx.x] * 3;  // PLANTED uninitialised-read
}
__global__ void dynamic_lds_tail(float* out) {
    extern __shared__ float more[];
    volatile float* m = more;
    if (threadIdx.x < 60) m[threadIdx.x] = threadIdx.x;
    __syncthreads();
    float sum = 0;
    if (threadIdx.x == 0)
        for (int i = 0; i < 64; ++i) sum += m[i];
    if (threadIdx.x == 0) out[0] = sum;  // PLANTED uninitialised-read
}
__global__ void scratch_array(int* out, int n) {
    volatile int local[16];
    for (int i = 0; i < n; ++i) local[i] = i;
    out[threadIdx.x] = local[threadIdx.x & 15] + 1;  // PLANTED uninitialised-read
}
__global__ void from_malloc(const float* in, float* out) {
    out[threadIdx.x] = in[threadIdx.x] * 2 + 1;  // PLANTED uninitialised-read
}
__global__ void from_malloc_async(const int* in, int* out) {
    out[threadIdx.x] = in[threadIdx.x] ^ 1;  // PLANTED uninitialised-read
}
__global__ void used_again(const int* in, int* out) {
    out[threadIdx.x] = in[threadIdx.x] + 7;  // PLANTED uninitialised-read
}
__global__ void half_copied(const int* in, int* out) {
    out[threadIdx.x] = in[threadIdx.x];  // PLANTED uninitialised-read
}
__global__ void through_a_branch(const int* in, int* out) {
    if (in[threadIdx.x] > 3) out[threadIdx.x] = 1;  // PLANTED uninitialised-read
}
__global__ void through_a_uniform_branch(const int* in, int* out) {
    if (in[100] == 3) out[threadIdx.x] = 1;  // PLANTED uninitialised-read
}
__global__ void through_an_address(const unsigned* in, int* out) {
    out[in[threadIdx.x] & 63] = 1;  // PLANTED uninitialised-read
}
__global__ void through_a_shuffle(const int* in, int* out) {
    int value = threadIdx.x == 9 ? in[9] : 4;
    value = __shfl(value, (threadIdx.x + 1) & 63);
    out[threadIdx.x] = value;  // PLANTED uninitialised-read
}
__global__ void shuffle_from_lanes_that_are_off(const int* in, int* out) {
    if (threadIdx.x < 32) {
        const int value = in[threadIdx.x] * 3;
        out[threadIdx.x] = __shfl(value, threadIdx.x + 32);  // PLANTED uninitialised-read
    }
}
__global__ void clean_half_of_a_wave(const int* in, int* out) {  // what the upper lanes get does not get to lane 0
    if (threadIdx.x < 32) {
        int value = in[threadIdx.x];
        for (int d = 16; d > 0; d /= 2) value += __shfl_down(value, d);
        if (threadIdx.x == 0) out[0] = value;
    }
}
__global__ void through_a_reduction(const float* in, float* out) {
    float value = threadIdx.x < 63 ? 1.0F : in[threadIdx.x];
    for (int d = 32; d > 0; d /= 2) value += __shfl_xor(value, d);
    if (threadIdx.x == 0) out[0] = value;  // PLANTED uninitialised-read
}
__global__ void counter_not_zeroed(int* count, int* out) {
    out[threadIdx.x] = atomicAdd(count + 200, 1);  // PLANTED uninitialised-read
}
__global__ void lds_histogram_not_zeroed(int* out) {
    __shared__ int bins[16];
    atomicAdd(&bins[threadIdx.x & 15], 1);  // PLANTED uninitialised-read
    __syncthreads();
    if (threadIdx.x < 16) out[threadIdx.x] = bins[threadIdx.x];
}
__global__ void atomic_operand(const int* in, int* out) {
    atomicAdd(out + threadIdx.x, in[threadIdx.x]);  // PLANTED uninitialised-read
}
__global__ void one_byte_of_a_word(unsigned* out) {
    __shared__ unsigned char bytes[256];
    volatile unsigned char* b = bytes;
    for (unsigned k = 0; k < 4; ++k)
        if (k != 2) b[threadIdx.x * 4 + k] = k;
    __syncthreads();
    const unsigned word = ((volatile unsigned*)bytes)[threadIdx.x];
    out[threadIdx.x] = (word >> 16) & 255;  // PLANTED uninitialised-read
}
struct Particle {
    float mass, charge;
    int kind;
};
__global__ void leave_a_field_out(Particle* out) {
    out[threadIdx.x].mass = 1;
    out[threadIdx.x].kind = 2;
}
__global__ void read_the_field(const Particle* in, float* out) {
    out[threadIdx.x] = in[threadIdx.x].mass * in[threadIdx.x].charge;  // PLANTED uninitialised-read
}
__device__ __noinline__ int twice(int value) { return value * 2; }
__global__ void through_a_call(const int* in, int* out) {
    out[threadIdx.x] = twice(in[threadIdx.x]);  // PLANTED uninitialised-read
}
__global__ void copied_on_the_device(const int* in, int* out) {
    out[threadIdx.x] = in[threadIdx.x] | 1;  // PLANTED uninitialised-read
}
__global__ void some_bits(const unsigned* in, unsigned* out) {
    out[threadIdx.x] = (in[threadIdx.x] << 4) | 5;  // PLANTED uninitialised-read
}
__global__ void from_a_graph(const int* in, int* out) {
    out[threadIdx.x] = in[threadIdx.x] * 3;  // PLANTED uninitialised-read
}
__global__ void fill(int* out) { out[threadIdx.x] = 1; }
__global__ void from_malloc_on_the_device(int* out) {
    int* fresh = (int*)malloc(256);
    if (fresh == nullptr) return;
    fresh[0] = 7;
    out[0] = fresh[0];
    out[1] = fresh[1] * 3;  // PLANTED uninitialised-read
    free(fresh);
}

/// Memory of a graph, read before and after it is filled.
void graph_memory(int* out) {
    hipStream_t stream;
    hipGraph_t graph;
    hipGraphExec_t executable;
    int* memory;
    hipStreamCreate(&stream);
    hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal);
    hipMallocAsync((void**)&memory, 4096, stream);
    from_a_graph<<<1, 64, 0, stream>>>(memory, out);
    fill<<<1, 64, 0, stream>>>(memory);
    hipMemcpyAsync(out, memory, 256, hipMemcpyDeviceToDevice, stream);
    hipFreeAsync(memory, stream);
    hipStreamEndCapture(stream, &graph);
    hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0);
    hipGraphLaunch(executable, stream);
    hipStreamSynchronize(stream);
}

int main() {
    int *undefined, *out, *async, *freed, *copy;
    Particle* particles;
    hipMalloc(&undefined, 4096);
    hipMalloc(&out, 4096);
    hipMallocAsync((void**)&async, 4096, 0);
    hipMalloc(&freed, 4096);
    hipMalloc(&copy, 4096);
    hipMalloc(&particles, 64 * sizeof(Particle));
    hipMemset(out, 0, 4096);
    hipMemset(freed, 0, 4096);
    hipFree(freed);
    hipMalloc(&freed, 4096);
    int host[32] = {};
    lds_never_written<<<1, 64>>>(out);
    one_lane_missing<<<1, 64>>>(out);
    dynamic_lds_tail<<<1, 64, 256>>>((float*)out);
    scratch_array<<<1, 64>>>(out, 14);
    from_malloc<<<1, 64>>>((const float*)undefined, (float*)out);
    from_malloc_async<<<1, 64>>>(async, out);
    used_again<<<1, 64>>>(freed, out);
    hipMemcpy(copy, host, sizeof host, hipMemcpyHostToDevice);
    half_copied<<<1, 64>>>(copy, out);
    through_a_branch<<<1, 64>>>(undefined, out);
    through_a_uniform_branch<<<1, 64>>>(undefined, out);
    through_an_address<<<1, 64>>>((const unsigned*)undefined, out);
    through_a_shuffle<<<1, 64>>>(undefined, out);
    shuffle_from_lanes_that_are_off<<<1, 64>>>(copy, out);
    clean_half_of_a_wave<<<1, 64>>>(copy, out);
    through_a_reduction<<<1, 64>>>((const float*)undefined, (float*)out);
    counter_not_zeroed<<<1, 1>>>(undefined, out);
    lds_histogram_not_zeroed<<<1, 64>>>(out);
    atomic_operand<<<1, 64>>>(undefined, out);
    one_byte_of_a_word<<<1, 64>>>((unsigned*)out);
    leave_a_field_out<<<1, 64>>>(particles);
    read_the_field<<<1, 64>>>(particles, (float*)out);
    through_a_call<<<1, 64>>>(undefined, out);
    hipMemcpy(copy, undefined, 4096, hipMemcpyDeviceToDevice);
    copied_on_the_device<<<1, 64>>>(copy, out);
    some_bits<<<1, 64>>>((const unsigned*)undefined, (unsigned*)out);
    graph_memory(out);
    from_malloc_on_the_device<<<1, 1>>>(out);
    return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
