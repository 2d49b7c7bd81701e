// Host threads with a stream each: their work, errors and callbacks are their own. And a counter that host and device share.
#include <atomic>
#include <thread>

#include "check.hpp"

__global__ void step(unsigned* a, int n, unsigned k) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) a[i] = a[i] * 1664525U + k;
}
__global__ void count(unsigned* shared) { __hip_atomic_fetch_add(shared, 1U, __ATOMIC_RELAXED, __HIP_MEMORY_SCOPE_SYSTEM); }

static std::atomic<int> bad{0}, called{0};
void ended(hipStream_t, hipError_t, void* counter) { ++*static_cast<std::atomic<int>*>(counter); }

void work(unsigned thread) {
    const int n = 5000;
    const auto check = [](bool right) { bad += !right; };
    hipStream_t stream;
    unsigned* d;
    check(hipStreamCreate(&stream) == hipSuccess);
    if (thread % 2 != 0) {  // an error of one thread is none of the others'
        check(hipMalloc(reinterpret_cast<void**>(&d), ~std::size_t{0} >> 1U) != hipSuccess);
        check(hipPeekAtLastError() != hipSuccess && hipGetLastError() != hipSuccess);
    }
    check(hipPeekAtLastError() == hipSuccess);
    check(hipMalloc(reinterpret_cast<void**>(&d), n * sizeof(unsigned)) == hipSuccess);
    std::vector<unsigned> host(n, thread), want(n, thread);
    for (int round = 0; round < 5; ++round) {
        check(hipMemcpyAsync(d, host.data(), n * sizeof(unsigned), hipMemcpyHostToDevice, stream) == hipSuccess);
        for (unsigned k = 0; k < 4; ++k) step<<<(n + 255) / 256, 256, 0, stream>>>(d, n, k + thread);
        check(hipMemcpyAsync(host.data(), d, n * sizeof(unsigned), hipMemcpyDeviceToHost, stream) == hipSuccess);
        check(hipStreamAddCallback(stream, ended, &called, 0) == hipSuccess);
        check(hipStreamSynchronize(stream) == hipSuccess);
        for (unsigned& x : want)
            for (unsigned k = 0; k < 4; ++k) x = x * 1664525U + k + thread;
        check(host == want);
    }
    step<<<1, 64, 0, hipStreamPerThread>>>(d, 64, 1);
    check(hipStreamSynchronize(hipStreamPerThread) == hipSuccess);
    check(hipFree(d) == hipSuccess && hipStreamDestroy(stream) == hipSuccess);
}
int main() {
    std::vector<std::thread> threads;
    for (unsigned t = 0; t < 8; ++t) threads.emplace_back(work, t);
    for (std::thread& t : threads) t.join();
    expect("bad", 0, bad.load(), 0);
    expect("callbacks", 0, called.load(), 40);
    unsigned* shared;
    must(hipMallocManaged(reinterpret_cast<void**>(&shared), sizeof(unsigned)), "hipMallocManaged");
    *shared = 0;
    std::thread host([&] {
        for (int i = 0; i < 1000; ++i) __atomic_fetch_add(shared, 1U, __ATOMIC_RELAXED);
    });
    count<<<20, 256>>>(shared);
    must(hipDeviceSynchronize(), "count");
    host.join();
    expect("shared", 0, *shared, 20U * 256U + 1000U);
    return verdict();
}
