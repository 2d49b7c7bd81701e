// One defect per kernel, on the lines that say PLANTED; the class is the word after it.
#include <hip/hip_runtime.h>
// the next one needs the first
#include <hip/hip_cooperative_groups.h>

namespace cg = cooperative_groups;

// ---- LDS ----
__global__ void reverse_without_barrier(int* out) {
    __shared__ int t[256];
    t[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = t[255 - threadIdx.x];  // PLANTED data-race // PLANTED uninitialised-read
}
__global__ void tree_without_barrier(int* out) {
    __shared__ int t[256];
    t[threadIdx.x] = out[threadIdx.x];
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (threadIdx.x < s) t[threadIdx.x] += t[threadIdx.x + s];  // PLANTED data-race // PLANTED wave-synchronous
    }
    out[threadIdx.x] = t[0];  // PLANTED wave-synchronous
}
__global__ void tile_reused_too_early(const int* in, int* out) {
    __shared__ int t[128];
    int sum = 0;
    for (int k = 0; k < 4; ++k) {
        t[threadIdx.x] = in[k * 128 + threadIdx.x];  // PLANTED data-race
        __syncthreads();
        sum += t[127 - threadIdx.x];
    }
    out[threadIdx.x] = sum;
}
__global__ void counters_set_without_barrier(const int* in, int* out) {  // the wave that sets them counts in all of them first
    __shared__ int h[16], g[16];
    if (threadIdx.x < 16) h[threadIdx.x] = g[threadIdx.x] = 0;
    atomicAdd(&h[threadIdx.x & 15], 1);                // PLANTED data-race
    atomicAdd(&g[threadIdx.x & 15], in[threadIdx.x]);  // PLANTED data-race
    __syncthreads();
    if (threadIdx.x < 16) out[threadIdx.x] = h[threadIdx.x] + g[threadIdx.x];
}
__global__ void sum_set_without_barrier(const int* in, int* out) {
    if (threadIdx.x < 64) out[threadIdx.x] = 0;
    atomicAdd(&out[threadIdx.x & 63], in[threadIdx.x]);  // PLANTED data-race
}
__global__ void clean_counters(const int* in, int* out) {
    __shared__ int h[16];
    if (threadIdx.x < 16) h[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&h[threadIdx.x & 15], in[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x < 16) out[threadIdx.x] = h[threadIdx.x];
}
__global__ void histogram_without_atomics(int* out) {
    __shared__ int h[16];
    if (threadIdx.x < 16) h[threadIdx.x] = 0;
    __syncthreads();
    h[threadIdx.x & 15] += 1;  // PLANTED data-race
    __syncthreads();
    if (threadIdx.x < 16) out[threadIdx.x] = h[threadIdx.x];
}
__global__ void one_word_many_values(int* out) {
    __shared__ int t;
    t = threadIdx.x;  // PLANTED data-race
    __syncthreads();
    out[threadIdx.x] = t;
}
__global__ void one_word_many_values_after_a_fence(int* out) {
    __shared__ int t[64];
    t[threadIdx.x] = out[threadIdx.x];
    __threadfence();
    t[threadIdx.x & 7] = threadIdx.x;  // PLANTED data-race
    __syncthreads();
    out[threadIdx.x] = t[threadIdx.x];
}
__global__ void atomic_against_load(int* out) {
    __shared__ int t;
    if (threadIdx.x == 0) t = 0;
    __syncthreads();
    atomicAdd(&t, 1);
    out[threadIdx.x] = t;  // PLANTED data-race
}
__global__ void sum_read_by_its_last_wave(const int* in, int* out) {  // whose own atomic operation hides the others
    __shared__ int t;
    if (threadIdx.x == 0) t = 0;
    __syncthreads();
    atomicAdd(&t, in[threadIdx.x]);  // PLANTED data-race
    if (threadIdx.x >= 192) out[threadIdx.x] = t;  // PLANTED data-race
}
__global__ void sum_reset_by_its_last_wave(const int* in, int* out) {
    atomicAdd(out, in[threadIdx.x]);
    atomicAdd(out, 1);  // PLANTED data-race
    if (threadIdx.x == 192) *out = 0;  // PLANTED data-race
}
__global__ void bytes_of_a_word(unsigned char* out) {  // the last byte has one writer
    __shared__ unsigned char t[256];
    t[threadIdx.x] = threadIdx.x;  // PLANTED data-race
    out[threadIdx.x] = t[(threadIdx.x * 4) & 255];  // PLANTED data-race // PLANTED uninitialised-read
}
__global__ void neighbour_wave(int* out) {
    __shared__ int t[257];
    t[threadIdx.x] = threadIdx.x;
    __builtin_amdgcn_wave_barrier();
    out[threadIdx.x] = t[threadIdx.x ^ 64];  // PLANTED data-race // PLANTED uninitialised-read
}
__global__ void initialised_by_one_wave(int* out) {
    __shared__ int t;
    if (threadIdx.x == 0) t = 5;
    out[threadIdx.x] = t;  // PLANTED data-race // PLANTED uninitialised-read // PLANTED wave-synchronous
}

// ---- global memory ----
__global__ void shift_in_place(int* a) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = a[i + 1];  // PLANTED data-race
}
__global__ void sum_without_atomics(int* a, const int* in) {
    a[0] += in[blockIdx.x * blockDim.x + threadIdx.x];  // PLANTED data-race
}
__global__ void overlapping_tiles(int* a) {
    const int i = blockIdx.x * (blockDim.x - 1) + threadIdx.x;
    a[i] = blockIdx.x;  // PLANTED data-race
}
__global__ void neighbour_workgroup(int* a, int* out) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = i;
    __syncthreads();
    out[i] = a[(i + 64) % (gridDim.x * blockDim.x)];  // PLANTED data-race
}
__global__ void within_a_workgroup(int* a, int* out) {
    a[threadIdx.x] = threadIdx.x;
    out[threadIdx.x] = a[255 - threadIdx.x];  // PLANTED data-race
}
__global__ void atomic_and_plain(int* a) {
    if (blockIdx.x == 1) a[0] = 100;  // PLANTED data-race
    else atomicAdd(a, 1);
}
__global__ void sum_read_by_the_last_workgroup(int* a, int* out) {
    atomicAdd(a, 1);  // PLANTED data-race
    if (blockIdx.x == gridDim.x - 1) out[threadIdx.x] = *a;  // PLANTED data-race
}
__global__ void lost_update(int* a, int* out) {
    if (threadIdx.x == 0) {
        int old = *a;
        *a = old + 1;  // PLANTED data-race
        out[blockIdx.x] = old;
    }
}
__global__ void shuffled_store(int* a) {
    a[(threadIdx.x * 7) & 31] = threadIdx.x;  // PLANTED data-race
}

// ---- a grid whose workgroups meet, but not everywhere; the lines of the pairs differ ----
__global__ void grid_without_barrier(int* a, int* out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = i;
    __syncthreads();
    out[i] = a[(i + 64) % (gridDim.x * blockDim.x)];  // PLANTED data-race
}
__global__ void grid_barrier_after_the_load(int* a, int* out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    cg::this_grid().sync();
    a[i] = i;
    const int next = a[(i + 64) % (gridDim.x * blockDim.x)];  // PLANTED data-race
    cg::this_grid().sync();
    out[i] = next;
}
__global__ void one_grid_barrier_a_round(int* a, int* out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    for (int round = 0; round < 3; ++round) {
        a[i] = i + round;  // PLANTED data-race
        cg::this_grid().sync();
        sum += a[(i + 64) % (gridDim.x * blockDim.x)];
    }
    out[i] = sum;
}
__global__ void arrives_before_its_waves(int* a, int* out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    if (threadIdx.x >= 64) {
        a[i] = i;
    } else {
        __threadfence();
        __builtin_amdgcn_ds_gws_barrier(gridDim.x - 1, 0);
        out[i] = a[(i + 64 + blockDim.x) % (gridDim.x * blockDim.x)];  // PLANTED data-race
    }
}

// ---- clean ----
__global__ void clean_grid_rounds(int* a, int* out) {
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    int sum = 0;
    for (int round = 0; round < 3; ++round) {
        a[i] = i + round;
        cg::this_grid().sync();
        sum += a[(i + 192) % (gridDim.x * blockDim.x)];
        cg::this_grid().sync();
    }
    out[i] = sum;
}
__global__ void clean_multi_grid(int* a, int* out) {  // its barrier counts with atomics
    const unsigned i = blockIdx.x * blockDim.x + threadIdx.x;
    a[i] = i;
    cg::this_multi_grid().sync();
    out[i] = a[(i + 192) % (gridDim.x * blockDim.x)];
}
__global__ void clean_grid_semaphore(int* a, int* out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        a[0] = 42;
        __threadfence();
        __builtin_amdgcn_ds_gws_sema_v(1);
    } else {
        __builtin_amdgcn_ds_gws_sema_p(1);
        __threadfence();
        out[0] = a[0];
    }
}
__global__ void clean_same_value(int* flag, const int* in) {
    if (in[threadIdx.x] >= 0) *flag = 1;
}
__global__ void clean_lock(int* lock, int* value) {
    if (threadIdx.x == 0) {
        while (__hip_atomic_exchange(lock, 1, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_AGENT) != 0) __builtin_amdgcn_s_sleep(1);
        *value += 1;
        __hip_atomic_store(lock, 0, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_AGENT);
    }
}
__global__ void clean_last_block(const int* in, int* part, unsigned* done, int* out) {
    __shared__ int t[256];
    __shared__ bool last;
    t[threadIdx.x] = in[blockIdx.x * 256 + threadIdx.x];
    __syncthreads();
    for (int s = 128; s > 0; s /= 2) {
        if (threadIdx.x < s) t[threadIdx.x] += t[threadIdx.x + s];
        __syncthreads();
    }
    if (threadIdx.x == 0) {
        part[blockIdx.x] = t[0];
        __threadfence();
        last = atomicAdd(done, 1u) == gridDim.x - 1;
        __threadfence();
    }
    __syncthreads();
    if (last && threadIdx.x == 0) {
        int sum = 0;
        for (unsigned i = 0; i < gridDim.x; ++i) sum += part[i];
        *out = sum;
    }
}
__global__ void clean_lds_flag(int* out) {
    __shared__ int value;
    __shared__ int flag;
    if (threadIdx.x == 0) flag = 0;
    __syncthreads();
    if (threadIdx.x == 64) {
        value = 42;
        __hip_atomic_store(&flag, 1, __ATOMIC_RELEASE, __HIP_MEMORY_SCOPE_WORKGROUP);
    }
    if (threadIdx.x == 0) {
        while (__hip_atomic_load(&flag, __ATOMIC_ACQUIRE, __HIP_MEMORY_SCOPE_WORKGROUP) == 0) {
        }
        out[0] = value;
    }
}
__global__ void clean_atomics(int* a, int* out) {
    __shared__ int t;
    if (threadIdx.x == 0) t = 0;
    __syncthreads();
    out[atomicAdd(&t, 1)] = threadIdx.x;
    atomicMax(a, (int)threadIdx.x);
    __syncthreads();
    if (threadIdx.x == 0) out[256] = t;
}

__global__ void clean_sum_with_barrier(const int* in, int* sum, int* out) {
    __shared__ int t;
    if (threadIdx.x == 0) t = 0;
    __syncthreads();
    atomicAdd(&t, in[threadIdx.x]);
    atomicAdd(sum, in[threadIdx.x]);
    __syncthreads();
    if (threadIdx.x >= 192) out[threadIdx.x] = t + *sum;
}
__global__ void clean_ticket(int* sum, unsigned* count, int* out) {  // sets back what it found out by its own atomic operation
    if (threadIdx.x != 0) return;
    atomicAdd(sum, 1);
    __threadfence();
    const bool last = atomicAdd(count, 1u) == gridDim.x - 1;
    __threadfence();
    if (!last) return;
    *out = *sum;
    *count = 0;
}
__global__ void clean_bytes(unsigned char* out) {
    __shared__ unsigned char t[256];
    t[threadIdx.x] = threadIdx.x;
    __syncthreads();
    out[threadIdx.x] = t[(threadIdx.x * 4) & 255];
}

// ---- the device heap ----
__global__ void heap_block_of_all(int** shared) {
    if (threadIdx.x == 0 && blockIdx.x == 0) *shared = (int*)malloc(64 * sizeof(int));
}
__global__ void heap_block_without_order(int** shared, int* out) {
    int* block = *shared;
    block[threadIdx.x] = blockIdx.x;  // PLANTED data-race
    out[blockIdx.x * 64 + threadIdx.x] = block[63 - threadIdx.x];
}
__global__ void heap_block_before_heap_use(int** shared, int* out) {
    int* block = *shared;
    if (blockIdx.x == 0) block[threadIdx.x] = threadIdx.x;
    if (blockIdx.x == 1) out[threadIdx.x] = block[threadIdx.x];  // PLANTED data-race
    int* own = (int*)malloc(16 + threadIdx.x);
    own[0] = blockIdx.x;
    free(own);
}
__global__ void clean_heap_blocks(int* out) {
    for (int round = 0; round < 3; ++round) {
        int* block = (int*)malloc(20 * sizeof(int));
        for (int i = 0; i < 20; ++i) block[i] = blockIdx.x + i;
        int sum = 0;
        for (int i = 0; i < 20; ++i) sum += block[i];
        out[blockIdx.x * 64 + threadIdx.x] = sum;
        free(block);
    }
}

void cooperate(void (*kernel)(int*, int*), int groups, int threads, int* a, int* out) {
    void* arguments[] = {&a, &out};
    hipMemset(a, 0xff, 1 << 16);
    hipLaunchCooperativeKernel(reinterpret_cast<void*>(kernel), groups, threads, arguments, 0, nullptr);
}
// ---- a barrier that is reached with accesses to LDS on their way ----
#define BARE_BARRIER() asm volatile("" ::: "memory"); __builtin_amdgcn_s_barrier(); asm volatile("" ::: "memory")
__global__ void stores_in_flight(int* out) {
    __shared__ int t[256];
    t[threadIdx.x] = threadIdx.x;
    BARE_BARRIER();
    out[threadIdx.x] = t[255 - threadIdx.x];  // PLANTED data-race
}
__global__ void loads_in_flight(const int* in, int* out) {
    __shared__ int t[256];
    t[threadIdx.x] = in[threadIdx.x];
    __syncthreads();
    const int x = t[255 - threadIdx.x];
    BARE_BARRIER();
    t[threadIdx.x] = 5;  // PLANTED data-race
    __syncthreads();
    out[threadIdx.x] = x + t[threadIdx.x ^ 64];
}
__global__ void atomics_in_flight(const int* in, int* out) {
    __shared__ int h[256];
    h[threadIdx.x] = 0;
    __syncthreads();
    atomicAdd(&h[in[threadIdx.x] & 255], 1);
    BARE_BARRIER();
    out[threadIdx.x] = h[255 - threadIdx.x];  // PLANTED data-race
}
__global__ void in_flight_at_two_barriers(int* out) {
    __shared__ int t[256];
    t[threadIdx.x] = threadIdx.x;
    BARE_BARRIER();
    BARE_BARRIER();
    out[threadIdx.x] = t[255 - threadIdx.x];  // PLANTED data-race
}
__global__ void clean_waited_for(int* out) {
    __shared__ int t[256];
    t[threadIdx.x] = threadIdx.x;
    asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");
    BARE_BARRIER();
    out[threadIdx.x] = t[255 - threadIdx.x];
}
__global__ void clean_fences(int* out) {
    __shared__ int t[256];
    t[threadIdx.x] = threadIdx.x;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
    __builtin_amdgcn_s_barrier();
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "workgroup");
    out[threadIdx.x] = t[255 - threadIdx.x];
}
__global__ void clean_waited_for_later(int* out) {
    __shared__ int t[256];
    t[threadIdx.x] = threadIdx.x;
    BARE_BARRIER();
    __syncthreads();
    out[threadIdx.x] = t[255 - threadIdx.x];
}
__global__ void clean_one_of_two_waited_for(int* out) {
    __shared__ int t[256], u[256];
    t[threadIdx.x] = threadIdx.x;
    asm volatile("s_waitcnt lgkmcnt(0)" ::: "memory");
    u[threadIdx.x] = threadIdx.x + 1;
    BARE_BARRIER();
    const int x = t[255 - threadIdx.x];
    __syncthreads();
    out[threadIdx.x] = x + u[255 - threadIdx.x];
}
int main() {
    int *a, *b;
    hipMalloc(&a, 1 << 16);
    hipMalloc(&b, 1 << 16);
    hipMemset(a, 0, 1 << 16);
    hipMemset(b, 0, 1 << 16);
    reverse_without_barrier<<<1, 256>>>(a);
    tree_without_barrier<<<1, 256>>>(a);
    tile_reused_too_early<<<1, 128>>>(a, b);
    counters_set_without_barrier<<<1, 128>>>(b, a);
    sum_set_without_barrier<<<1, 128>>>(b, a);
    clean_counters<<<1, 128>>>(b, a);
    histogram_without_atomics<<<1, 256>>>(a);
    one_word_many_values<<<1, 64>>>(a);
    one_word_many_values_after_a_fence<<<1, 64>>>(a);
    atomic_against_load<<<1, 256>>>(a);
    sum_read_by_its_last_wave<<<1, 256>>>(b, a);
    sum_reset_by_its_last_wave<<<1, 256>>>(b, a);
    bytes_of_a_word<<<1, 256>>>((unsigned char*)a);
    neighbour_wave<<<1, 256>>>(a);
    initialised_by_one_wave<<<1, 128>>>(a);
    shift_in_place<<<8, 64>>>(a);
    sum_without_atomics<<<4, 64>>>(a, b);
    overlapping_tiles<<<4, 64>>>(a);
    neighbour_workgroup<<<4, 64>>>(a, b);
    within_a_workgroup<<<1, 256>>>(a, b);
    atomic_and_plain<<<2, 64>>>(a);
    sum_read_by_the_last_workgroup<<<4, 64>>>(a, b);
    lost_update<<<4, 64>>>(a, b);
    shuffled_store<<<1, 64>>>(a);
    hipMemset(a, 0, 1 << 16);
    clean_same_value<<<4, 64>>>(a, b);
    hipMemset(a, 0, 1 << 16);
    clean_lock<<<16, 64>>>(a, b);
    hipMemset(a, 0, 1 << 16);
    clean_last_block<<<16, 256>>>(b, a, (unsigned*)(a + 1024), a + 2048);
    clean_lds_flag<<<1, 128>>>(a);
    clean_atomics<<<4, 256>>>(a, b);
    hipMemset(a, 0, 1 << 16);
    clean_sum_with_barrier<<<1, 256>>>(b, a, a + 256);
    clean_ticket<<<8, 64>>>(a, (unsigned*)(a + 64), a + 128);
    stores_in_flight<<<1, 256>>>(a);
    loads_in_flight<<<1, 256>>>(b, a);
    atomics_in_flight<<<1, 256>>>(b, a);
    in_flight_at_two_barriers<<<1, 256>>>(a);
    clean_waited_for<<<1, 256>>>(a);
    clean_fences<<<1, 256>>>(a);
    clean_waited_for_later<<<1, 256>>>(a);
    clean_one_of_two_waited_for<<<1, 256>>>(a);
    clean_bytes<<<1, 256>>>((unsigned char*)a);
    heap_block_of_all<<<1, 64>>>((int**)b);
    heap_block_without_order<<<4, 64>>>((int**)b, a);
    heap_block_before_heap_use<<<2, 64>>>((int**)b, a);
    clean_heap_blocks<<<16, 64>>>(a);
    cooperate(grid_without_barrier, 4, 64, a, b);
    cooperate(grid_barrier_after_the_load, 4, 64, a, b);
    cooperate(one_grid_barrier_a_round, 4, 64, a, b);
    cooperate(arrives_before_its_waves, 4, 128, a, b);
    cooperate(clean_grid_rounds, 4, 128, a, b);
    cooperate(clean_grid_semaphore, 2, 64, a, b);
    void* arguments[] = {&a, &b};
    hipLaunchParams one{reinterpret_cast<void*>(clean_multi_grid), dim3(4), dim3(128), arguments, 0, nullptr};
    if (hipLaunchCooperativeKernelMultiDevice(&one, 1, 0) != hipSuccess) return 1;
    return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
