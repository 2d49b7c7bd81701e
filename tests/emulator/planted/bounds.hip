// One defect per kernel, on the lines that say PLANTED; the class is the word after it.
#include <hip/hip_runtime.h>

__global__ void past_the_end(int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    out[i] = i;  // PLANTED out-of-bounds
}
__global__ void load_before(const int* in, int* out) {
    const int i = threadIdx.x;
    out[i] = in[i - 1];  // PLANTED out-of-bounds
}
__global__ void half_inside(const char* in, long* out) {
    out[threadIdx.x] = *(const long*)(in + threadIdx.x * 8);  // PLANTED out-of-bounds
}
__global__ void after_free(const float* in, float* out) {
    out[threadIdx.x] = in[threadIdx.x];  // PLANTED use-after-free
}
__global__ void store_after_free(float* out) {
    out[threadIdx.x] = 1;  // PLANTED use-after-free
}
__global__ void null_pointer(int* out) {
    out[threadIdx.x] = 1;  // PLANTED out-of-bounds
}
__global__ void lds_static(int* out) {
    __shared__ int tile[64];
    volatile int* t = tile;
    t[threadIdx.x + 32] = 1;  // PLANTED out-of-bounds
    __syncthreads();
    out[threadIdx.x] = t[threadIdx.x];  // PLANTED uninitialised-read
}
__global__ void lds_dynamic(int* out) {
    extern __shared__ int more[];
    more[threadIdx.x * 2] = 1;  // PLANTED out-of-bounds
    __syncthreads();
    out[threadIdx.x] = more[threadIdx.x];  // PLANTED uninitialised-read
}
__global__ void scratch(int* out, int n) {
    volatile int local[16];
    for (int i = 0; i < 16; ++i) local[i] = i;
    local[n * 1000] = 5;  // PLANTED out-of-bounds
    out[threadIdx.x] = local[threadIdx.x & 15];
}
struct Big {
    int values[8];
};
__global__ void arguments(int* out, Big big, int n) {
    out[threadIdx.x] = (&big.values[0])[threadIdx.x * n];  // PLANTED out-of-bounds
}
__global__ void atomic_past(int* out, int n) {
    atomicAdd(out + n, 1);  // PLANTED out-of-bounds
}
__global__ void scalar_load(const int* in, int* out, int n) {
    out[threadIdx.x] = in[n * 4096];  // PLANTED out-of-bounds
}

__global__ void past_a_mapping(int* out) {
    out[(2 << 20) / 4 + threadIdx.x] = 1;  // PLANTED out-of-bounds
}
__global__ void after_unmapping(int* out) {
    out[threadIdx.x] = 1;  // PLANTED use-after-free
}
__global__ void past_a_graph_allocation(int* out) {
    out[1024 + threadIdx.x] = 1;  // PLANTED out-of-bounds
}
__global__ void after_a_graph_freed_it(int* out) {
    out[threadIdx.x] = 1;  // PLANTED use-after-free
}
__global__ void fill(int* out) { out[threadIdx.x] = 1; }

/// Launches on memory that is mapped by hand, and unmapped.
void mapped_memory() {
    const size_t bytes = 2 << 20;
    hipMemAllocationProp properties = {};
    properties.type = hipMemAllocationTypePinned;
    properties.location.type = hipMemLocationTypeDevice;
    hipMemAccessDesc access = {};
    access.location = properties.location;
    access.flags = hipMemAccessFlagsProtReadWrite;
    hipMemGenericAllocationHandle_t memory;
    void* place;
    hipMemAddressReserve(&place, 2 * bytes, 0, nullptr, 0);
    hipMemCreate(&memory, bytes, &properties, 0);
    hipMemMap(place, bytes, 0, memory, 0);
    hipMemSetAccess(place, bytes, &access, 1);
    fill<<<1, 64>>>((int*)place);
    past_a_mapping<<<1, 64>>>((int*)place);
    hipMemUnmap(place, bytes);
    after_unmapping<<<1, 64>>>((int*)place);
}

/// A graph that allocates and frees; the launches between and after it are stray.
void graph_memory() {
    hipStream_t stream;
    hipGraph_t graph;
    hipGraphExec_t executable;
    int* memory;
    hipStreamCreate(&stream);
    hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal);
    hipMallocAsync((void**)&memory, 4096, stream);
    fill<<<1, 64, 0, stream>>>(memory);
    past_a_graph_allocation<<<1, 64, 0, stream>>>(memory);
    hipFreeAsync(memory, stream);
    hipStreamEndCapture(stream, &graph);
    hipGraphInstantiate(&executable, graph, nullptr, nullptr, 0);
    hipGraphLaunch(executable, stream);
    after_a_graph_freed_it<<<1, 64, 0, stream>>>(memory);
    hipStreamSynchronize(stream);
}

__device__ int few[3];
__global__ void past_a_variable(int* out, int n) {
    out[threadIdx.x] = few[threadIdx.x + n];  // PLANTED out-of-bounds
}

int main() {
    int *a, *b, *freed;
    hipMalloc(&a, 400);
    hipMalloc(&b, 4096);
    hipMalloc(&freed, 4096);
    hipMemset(a, 0, 400);
    hipMemset(b, 0, 4096);
    hipMemset(freed, 0, 4096);
    hipFree(freed);
    past_the_end<<<2, 64>>>(a, 100);
    load_before<<<1, 64>>>(b, a);
    half_inside<<<1, 64>>>((const char*)a, (long*)b);
    after_free<<<1, 64>>>((const float*)freed, (float*)b);
    store_after_free<<<1, 64>>>((float*)freed);
    null_pointer<<<1, 64>>>(nullptr);
    lds_static<<<1, 64>>>(b);
    lds_dynamic<<<1, 64, 256>>>(b);
    scratch<<<1, 64>>>(b, 1);
    arguments<<<1, 64>>>(b, Big{}, 100);
    atomic_past<<<1, 64>>>(a, 100);
    scalar_load<<<1, 64>>>(a, b, 1);
    past_a_variable<<<1, 64>>>(a, 1 << 16);
    mapped_memory();
    graph_memory();
    return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
