// One defect per kernel, on the lines that say PLANTED; the class is the word after it. In each of them a workgroup
// learns through an atomic that another one has stored something, and one of the two fences is missing.
#include <hip/hip_runtime.h>

#define AGENT __HIP_MEMORY_SCOPE_AGENT
#define BLOCK __HIP_MEMORY_SCOPE_WORKGROUP

__device__ void wait_for(int* flag, int value, int order_is_acquire = 0) {
    while (__hip_atomic_load(flag, __ATOMIC_RELAXED, AGENT) < value) __builtin_amdgcn_s_sleep(1);
}
__global__ void no_fence_at_all(int* data, int* flag, int* out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        *data = 42;
        __hip_atomic_store(flag, 1, __ATOMIC_RELAXED, AGENT);
    } else {
        wait_for(flag, 1);
        out[blockIdx.x] = *data;  // PLANTED stale-read
    }
}
__global__ void no_acquire(int* data, int* flag, int* out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        *data = 42;
        __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, AGENT);
    } else {
        wait_for(flag, 1);
        out[blockIdx.x] = *data;  // PLANTED stale-read
    }
}
__global__ void no_release(int* data, int* flag, int* out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        *data = 42;
        __hip_atomic_store(flag, 1, __ATOMIC_RELAXED, AGENT);
    } else {
        wait_for(flag, 1);
        __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
        out[blockIdx.x] = *data;  // PLANTED stale-read
    }
}
__global__ void release_too_narrow(int* data, int* flag, int* out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        *data = 42;
        __builtin_amdgcn_fence(__ATOMIC_RELEASE, "workgroup");
        __hip_atomic_store(flag, 1, __ATOMIC_RELAXED, AGENT);
    } else {
        while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, AGENT) < 1) __builtin_amdgcn_s_sleep(1);
        out[blockIdx.x] = *data;  // PLANTED stale-read
    }
}
__global__ void acquire_too_narrow(int* data, int* flag, int* out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        *data = 42;
        __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, AGENT);
    } else {
        wait_for(flag, 1);
        __threadfence_block();
        out[blockIdx.x] = *data;  // PLANTED stale-read
    }
}
__global__ void fence_before_the_store(int* data, int* flag, int* out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        __threadfence();
        *data = 42;
        __hip_atomic_store(flag, 1, __ATOMIC_RELAXED, AGENT);
    } else {
        while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, AGENT) < 1) __builtin_amdgcn_s_sleep(1);
        out[blockIdx.x] = *data;  // PLANTED stale-read
    }
}
__global__ void last_block_without_fence(int* part, unsigned* done, int* out) {
    if (threadIdx.x != 0) return;
    part[blockIdx.x] = blockIdx.x;
    if (atomicAdd(done, 1u) == gridDim.x - 1) {
        int sum = 0;
        for (unsigned i = 0; i < gridDim.x; ++i) sum += part[i];  // PLANTED stale-read
        *out = sum;
    }
}
__global__ void lock_without_fences(int* lock, int* value, int* out) {
    if (threadIdx.x == 0) {
        while (atomicCAS(lock, 0, 1) != 0) __builtin_amdgcn_s_sleep(1);
        out[blockIdx.x] = *value;  // PLANTED stale-read
        *value = blockIdx.x;  // PLANTED data-race
        atomicExch(lock, 0);
    }
}
__global__ void grid_barrier_without_fence(int* data, unsigned* count, int* out) {
    const int i = blockIdx.x * 64 + threadIdx.x;
    data[i] = i;
    __syncthreads();
    if (threadIdx.x == 0) {
        atomicAdd(count, 1u);
        while (__hip_atomic_load(count, __ATOMIC_RELAXED, AGENT) < gridDim.x) __builtin_amdgcn_s_sleep(1);
    }
    __syncthreads();
    out[i] = data[(i + 64) % (gridDim.x * 64)];  // PLANTED stale-read
}
__global__ void look_back_without_fence(int* sums, int* ready, int* out) {
    if (threadIdx.x != 0) return;
    int before = 0;
    if (blockIdx.x > 0) {
        wait_for(ready + blockIdx.x - 1, 1);
        before = sums[blockIdx.x - 1];  // PLANTED stale-read
    }
    sums[blockIdx.x] = before + 1;
    __hip_atomic_store(ready + blockIdx.x, 1, __ATOMIC_RELAXED, AGENT);
    out[blockIdx.x] = before;
}
__global__ void queue_without_fence(int* items, unsigned* tail, int* out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        for (int k = 0; k < 4; ++k) {
            items[k] = 10 + k;
            atomicAdd(tail, 1u);
        }
    } else {
        while (atomicAdd(tail, 0u) < 4) __builtin_amdgcn_s_sleep(1);
        out[blockIdx.x] = items[blockIdx.x & 3];  // PLANTED stale-read
    }
}
__global__ void bare_grid_barrier(int* data, int* out) {
    const unsigned i = blockIdx.x * 64 + threadIdx.x;
    data[i] = i;
    __builtin_amdgcn_ds_gws_barrier(gridDim.x - 1, 0);
    out[i] = data[(i + 64) % (gridDim.x * 64)];  // PLANTED stale-read
}
__global__ void grid_barrier_without_acquire(int* data, int* out) {
    const unsigned i = blockIdx.x * 64 + threadIdx.x;
    data[i] = i;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    __builtin_amdgcn_ds_gws_barrier(gridDim.x - 1, 0);
    out[i] = data[(i + 64) % (gridDim.x * 64)];  // PLANTED stale-read
}
__global__ void second_grid_barrier_without_fence(int* data, int* out) {
    const unsigned i = blockIdx.x * 64 + threadIdx.x;
    __threadfence();
    __builtin_amdgcn_ds_gws_barrier(gridDim.x - 1, 0);
    data[i] = i;
    __builtin_amdgcn_ds_gws_barrier(gridDim.x - 1, 0);
    out[i] = data[(i + 64) % (gridDim.x * 64)];  // PLANTED stale-read
}

// ---- clean ----
__global__ void clean_bare_grid_barrier(int* data, int* out) {
    const unsigned i = blockIdx.x * 64 + threadIdx.x;
    data[i] = i;
    __builtin_amdgcn_fence(__ATOMIC_RELEASE, "agent");
    __builtin_amdgcn_ds_gws_barrier(gridDim.x - 1, 0);
    __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, "agent");
    const int next = data[(i + 64) % (gridDim.x * 64)];
    __builtin_amdgcn_ds_gws_barrier(gridDim.x - 1, 0);
    data[i] = next;
}
__global__ void clean_flag(int* data, int* flag, int* out) {
    if (threadIdx.x != 0) return;
    if (blockIdx.x == 0) {
        *data = 42;
        __hip_atomic_store(flag, 1, __ATOMIC_RELEASE, AGENT);
    } else {
        while (__hip_atomic_load(flag, __ATOMIC_ACQUIRE, AGENT) < 1) __builtin_amdgcn_s_sleep(1);
        out[blockIdx.x] = *data;
    }
}
__global__ void clean_look_back(int* sums, int* ready, int* out) {
    if (threadIdx.x != 0) return;
    int before = 0;
    if (blockIdx.x > 0) {
        wait_for(ready + blockIdx.x - 1, 1);
        __threadfence();
        before = sums[blockIdx.x - 1];
    }
    sums[blockIdx.x] = before + 1;
    __threadfence();
    __hip_atomic_store(ready + blockIdx.x, 1, __ATOMIC_RELAXED, AGENT);
    out[blockIdx.x] = before;
}
__global__ void clean_grid_barrier(int* data, unsigned* count, int* out) {
    const int i = blockIdx.x * 64 + threadIdx.x;
    data[i] = i;
    __syncthreads();
    if (threadIdx.x == 0) {
        __threadfence();
        atomicAdd(count, 1u);
        while (__hip_atomic_load(count, __ATOMIC_RELAXED, AGENT) < gridDim.x) __builtin_amdgcn_s_sleep(1);
        __threadfence();
    }
    __syncthreads();
    out[i] = data[(i + 64) % (gridDim.x * 64)];
}

int* fresh() {
    static int* a = nullptr;
    if (a == nullptr) hipMalloc(&a, 1 << 16);
    hipMemset(a, 0, 1 << 16);
    return a;
}
int main() {
    int* out;
    hipMalloc(&out, 1 << 16);
    int* a = fresh();
    no_fence_at_all<<<4, 64>>>(a, fresh() + 512, out);
    no_acquire<<<4, 64>>>(a, fresh() + 512, out);
    no_release<<<4, 64>>>(a, fresh() + 512, out);
    release_too_narrow<<<4, 64>>>(a, fresh() + 512, out);
    acquire_too_narrow<<<4, 64>>>(a, fresh() + 512, out);
    fence_before_the_store<<<4, 64>>>(a, fresh() + 512, out);
    last_block_without_fence<<<8, 64>>>(a, (unsigned*)fresh() + 512, out);
    lock_without_fences<<<8, 64>>>(a, fresh() + 512, out);
    grid_barrier_without_fence<<<4, 64>>>(a, (unsigned*)fresh() + 512, out);
    look_back_without_fence<<<8, 64>>>(a, fresh() + 512, out);
    queue_without_fence<<<4, 64>>>(a, (unsigned*)fresh() + 512, out);
    bare_grid_barrier<<<4, 64>>>(fresh(), out);
    grid_barrier_without_acquire<<<4, 64>>>(fresh(), out);
    second_grid_barrier_without_fence<<<4, 64>>>(fresh(), out);
    clean_bare_grid_barrier<<<4, 64>>>(fresh(), out);
    clean_flag<<<4, 64>>>(a, fresh() + 512, out);
    clean_look_back<<<8, 64>>>(a, fresh() + 512, out);
    clean_grid_barrier<<<4, 64>>>(a, (unsigned*)fresh() + 512, out);
    return hipDeviceSynchronize() == hipSuccess ? 0 : 1;
}
