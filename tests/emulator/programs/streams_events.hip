// Several streams with copies and kernels, ordered by events; times of events are never negative.
#include "check.hpp"

__global__ void step(int* v, int n, int add) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) v[i] = v[i] * 3 + add;
}
__global__ void join(const int* a, const int* b, int* out, int n) {
    const int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) out[i] = a[i] - b[i];
}
int main() {
    const int n = 1000;
    hipStream_t streams[3];
    hipEvent_t done[3], begin, end;
    for (auto& s : streams) must(hipStreamCreate(&s), "stream");
    for (auto& e : done) must(hipEventCreateWithFlags(&e, hipEventDisableTiming), "event");
    must(hipEventCreate(&begin), "event");
    must(hipEventCreate(&end), "event");
    const auto a = generate(n, [](std::size_t i) { return static_cast<int>(i); });
    const auto b = generate(n, [](std::size_t i) { return static_cast<int>(mixed(i) % 100); });
    Device<int> da(n), db(n), out(n);
    must(hipEventRecord(begin, streams[0]), "begin");
    must(hipMemcpyAsync(da.data, a.data(), n * sizeof(int), hipMemcpyHostToDevice, streams[0]), "copy");
    must(hipMemcpyAsync(db.data, b.data(), n * sizeof(int), hipMemcpyHostToDevice, streams[1]), "copy");
    for (int k = 0; k < 4; ++k) {
        step<<<4, 256, 0, streams[0]>>>(da.data, n, k);
        step<<<4, 256, 0, streams[1]>>>(db.data, n, 2 * k);
    }
    must(hipEventRecord(done[0], streams[0]), "record");
    must(hipEventRecord(done[1], streams[1]), "record");
    must(hipStreamWaitEvent(streams[2], done[0], 0), "wait");
    must(hipStreamWaitEvent(streams[2], done[1], 0), "wait");
    join<<<4, 256, 0, streams[2]>>>(da.data, db.data, out.data, n);
    std::vector<int> host(n);
    must(hipMemcpyAsync(host.data(), out.data, n * sizeof(int), hipMemcpyDeviceToHost, streams[2]), "copy back");
    must(hipStreamSynchronize(streams[2]), "synchronize");
    must(hipEventRecord(end, streams[2]), "end");
    must(hipEventSynchronize(end), "end");
    expect("query", 0, static_cast<int>(hipStreamQuery(streams[2])), static_cast<int>(hipSuccess));
    float milliseconds = -1;
    must(hipEventElapsedTime(&milliseconds, begin, end), "elapsed");
    expect("elapsed", 0, milliseconds >= 0, true);
    for (int i = 0; i < n; ++i) {
        int x = a[i], y = b[i];
        for (int k = 0; k < 4; ++k) x = x * 3 + k, y = y * 3 + 2 * k;
        expect("joined", i, host[i], x - y);
    }
    for (auto& s : streams) must(hipStreamDestroy(s), "destroy");
    for (auto& e : done) must(hipEventDestroy(e), "destroy");
    return verdict();
}
