// The calls of HIP that programs of this kind make, each with a result that is looked at: tests/emulator/test_calls_looked_at.py
// puts something that does nothing in the place of one after the other.
#include <atomic>
#include <chrono>
#include <string>
#include <thread>

#include "check.hpp"

// Both layouts of the properties are asked for by their own names.
#undef hipGetDeviceProperties
extern "C" hipError_t hipGetDeviceProperties(hipDeviceProp_tR0000*, int);

__device__ int factor = 3;
__managed__ int total = 5;
__global__ void scale(int* p, int by) { p[blockIdx.x * blockDim.x + threadIdx.x] *= by * factor; }
__global__ void add_total(int by) { atomicAdd(&total, by); }
__global__ void pitched(char* p, size_t pitch) { p[blockIdx.x * pitch + threadIdx.x] = char(blockIdx.x + threadIdx.x); }

namespace {

constexpr int kCount = 256;
using namespace std::chrono_literals;

void is(const char* what, long long got, long long want) { expect(what, 0, got, want); }
void fails(const char* what, hipError_t got, hipError_t want) { is(what, got, want); }

bool known(const void* p) {
    hipPointerAttribute_t attributes{};
    const bool found = hipPointerGetAttributes(&attributes, p) == hipSuccess && attributes.devicePointer != nullptr;
    static_cast<void>(hipGetLastError());
    return found;
}

/// Work that waits until `flag` is written, which another thread does soon; `sync` must come back after that work only.
template <class F>
void waits_for_work(const char* what, F sync) {
    unsigned* flag;
    hipStream_t stream;
    must(hipHostMalloc(reinterpret_cast<void**>(&flag), 64, 0), what);
    must(hipStreamCreateWithFlags(&stream, hipStreamNonBlocking), what);
    flag[0] = flag[1] = 0;
    must(hipStreamWaitValue32(stream, flag, 1, hipStreamWaitValueGte, 0xffffffff), what);
    must(hipStreamWriteValue32(stream, flag + 1, 7, 0), what);
    hipEvent_t event;
    must(hipEventCreateWithFlags(&event, hipEventDisableTiming), what);
    must(hipEventRecord(event, stream), what);
    fails(what, hipEventQuery(event), hipErrorNotReady);
    fails(what, hipStreamQuery(stream), hipErrorNotReady);
    std::thread other([flag] {
        std::this_thread::sleep_for(50ms);
        reinterpret_cast<std::atomic<unsigned>*>(flag)->store(1);
    });
    must(sync(stream, event), what);
    is(what, flag[1], 7);
    other.join();
    must(hipDeviceSynchronize(), what);
    must(hipEventDestroy(event), what);
    fails(what, hipEventRecord(event, nullptr), hipErrorInvalidHandle);
    must(hipStreamDestroy(stream), what);
    must(hipHostFree(flag), what);
    is(what, known(flag), 0);
}

void memory() {
    std::vector<int> host = generate(kCount, [](size_t i) { return int(i); }), back(kCount);
    int* d;
    size_t before = 0, during = 0, all = 0;
    add_total<<<1, 64>>>(1);  // the code and its variables are loaded now
    must(hipDeviceSynchronize(), "hipDeviceSynchronize");
    total = 5;
    must(hipMemGetInfo(&before, &all), "hipMemGetInfo");
    is("memory is free", before > 0 && before <= all, 1);
    must(hipMalloc(reinterpret_cast<void**>(&d), 1 << 24), "hipMalloc");
    must(hipMemGetInfo(&during, nullptr), "hipMemGetInfo");
    is("hipMemGetInfo counts", before - during >= 1 << 24, 1);
    must(hipMemcpy(d, host.data(), kCount * 4, hipMemcpyHostToDevice), "hipMemcpy");
    int three = 2;
    must(hipMemcpyToSymbol(HIP_SYMBOL(factor), &three, 4), "hipMemcpyToSymbol");
    scale<<<2, kCount / 2>>>(d, 5);
    must(hipMemcpyAsync(back.data(), d, kCount * 4, hipMemcpyDeviceToHost, nullptr), "hipMemcpyAsync");
    must(hipStreamSynchronize(nullptr), "hipStreamSynchronize");
    expect_all("scale", back, [](size_t i) { return 10 * i; });
    int symbol = 0;
    must(hipMemcpyFromSymbol(&symbol, HIP_SYMBOL(factor), 4), "hipMemcpyFromSymbol");
    is("hipMemcpyFromSymbol", symbol, 2);
    must(hipMemset(d, 1, kCount * 2), "hipMemset");
    must(hipMemsetAsync(d + kCount / 2, 2, kCount * 2, nullptr), "hipMemsetAsync");
    must(hipMemcpyWithStream(back.data(), d, kCount * 4, hipMemcpyDeviceToHost, nullptr), "hipMemcpyWithStream");
    expect_all("fills", back, [](size_t i) { return i < kCount / 2 ? 0x01010101 : 0x02020202; });
    must(hipFree(d), "hipFree");
    fails("hipFree twice", hipFree(d), hipErrorInvalidValue);
    must(hipMemGetInfo(&during, nullptr), "hipMemGetInfo");
    is("hipFree gives back", during == before, 1);

    add_total<<<1, 64>>>(2);
    must(hipDeviceSynchronize(), "hipDeviceSynchronize");
    is("managed variable", total, 5 + 128);
    int* managed;
    must(hipMallocManaged(reinterpret_cast<void**>(&managed), 256, hipMemAttachGlobal), "hipMallocManaged");
    std::fill_n(managed, 64, 1);
    must(hipMemPrefetchAsync(managed, 256, 0, nullptr), "hipMemPrefetchAsync");
    int where = 7;
    must(hipMemRangeGetAttribute(&where, sizeof where, hipMemRangeAttributeLastPrefetchLocation, managed, 256), "hipMemRangeGetAttribute");
    is("hipMemPrefetchAsync", where, 0);
    scale<<<1, 64>>>(managed, 4);
    must(hipDeviceSynchronize(), "hipDeviceSynchronize");
    is("managed memory", managed[63], 8);
    must(hipFree(managed), "hipFree");

    char* pitch_at;
    size_t pitch = 0;
    must(hipMallocPitch(reinterpret_cast<void**>(&pitch_at), &pitch, 100, 4), "hipMallocPitch");
    hipPitchedPtr volume{};
    must(hipMalloc3D(&volume, make_hipExtent(100, 4, 2)), "hipMalloc3D");
    is("pitches", pitch >= 100 && pitch % 64 == 0 && volume.pitch == pitch && volume.xsize == 100 && volume.ysize == 4, 1);
    pitched<<<8, 100>>>(static_cast<char*>(volume.ptr), volume.pitch);
    pitched<<<4, 100>>>(pitch_at, pitch);
    char last[2];
    must(hipMemcpy(last, static_cast<char*>(volume.ptr) + 7 * pitch + 99, 1, hipMemcpyDeviceToHost), "volume");
    must(hipMemcpy(last + 1, pitch_at + 3 * pitch + 99, 1, hipMemcpyDeviceToHost), "plane");
    is("volume", last[0], 106);
    is("plane", last[1], 102);
    must(hipFree(pitch_at), "hipFree");
    must(hipFree(volume.ptr), "hipFree");
}

template <class Allocate, class Free>
void pinned(const char* what, Allocate allocate, Free release) {
    int* p = nullptr;
    must(allocate(reinterpret_cast<void**>(&p)), what);
    std::fill_n(p, 64, 3);
    scale<<<1, 64>>>(p, 1);
    must(hipDeviceSynchronize(), what);
    is(what, p[63], 6);
    is(what, known(p), 1);
    must(release(p), what);
    is(what, known(p), 0);
}

void host_memory() {
    pinned("hipHostMalloc", [](void** p) { return hipHostMalloc(p, 256, 0); }, [](void* p) { return hipHostFree(p); });
    pinned("hipMallocHost", [](void** p) { return hipMallocHost(p, 256); }, [](void* p) { return hipFreeHost(p); });
    pinned("hipHostAlloc", [](void** p) { return hipHostAlloc(p, 256, 0); }, [](void* p) { return hipHostFree(p); });
    pinned("hipExtHostAlloc", [](void** p) { return hipExtHostAlloc(p, 256, 0); }, [](void* p) { return hipHostFree(p); });
    std::vector<int> own(64, 7);
    void* device = nullptr;
    must(hipHostRegister(own.data(), 256, 0), "hipHostRegister");
    must(hipHostGetDevicePointer(&device, own.data(), 0), "hipHostGetDevicePointer");
    scale<<<1, 64>>>(static_cast<int*>(device), 1);
    must(hipDeviceSynchronize(), "hipDeviceSynchronize");
    is("registered memory", own[63], 14);
    must(hipHostUnregister(own.data()), "hipHostUnregister");
    is("unregistered memory", known(own.data()), 0);
}

void pools() {
    hipMemPool_t pool = nullptr;
    must(hipDeviceGetDefaultMemPool(&pool, 0), "hipDeviceGetDefaultMemPool");
    uint64_t threshold = 1 << 20, got = 0;
    must(hipMemPoolSetAttribute(pool, hipMemPoolAttrReleaseThreshold, &threshold), "hipMemPoolSetAttribute");
    must(hipMemPoolGetAttribute(pool, hipMemPoolAttrReleaseThreshold, &got), "hipMemPoolGetAttribute");
    is("hipMemPoolSetAttribute", got, threshold);
    int* p = nullptr;
    must(hipMallocAsync(reinterpret_cast<void**>(&p), 1024, nullptr), "hipMallocAsync");
    must(hipMemsetAsync(p, 0, 1024, nullptr), "hipMemsetAsync");
    must(hipMemPoolGetAttribute(pool, hipMemPoolAttrUsedMemCurrent, &got), "hipMemPoolGetAttribute");
    is("hipMallocAsync", got >= 1024, 1);
    must(hipFreeAsync(p, nullptr), "hipFreeAsync");
    must(hipMemPoolGetAttribute(pool, hipMemPoolAttrUsedMemCurrent, &got), "hipMemPoolGetAttribute");
    is("hipFreeAsync", got, 0);
}

void streams() {
    waits_for_work("hipDeviceSynchronize", [](hipStream_t, hipEvent_t) { return hipDeviceSynchronize(); });
    waits_for_work("hipStreamSynchronize", [](hipStream_t s, hipEvent_t) { return hipStreamSynchronize(s); });
    waits_for_work("hipEventSynchronize", [](hipStream_t, hipEvent_t e) { return hipEventSynchronize(e); });
    waits_for_work("hipStreamWaitEvent", [](hipStream_t, hipEvent_t e) {
        hipStream_t later;
        must(hipStreamCreate(&later), "hipStreamCreate");
        must(hipStreamWaitEvent(later, e, 0), "hipStreamWaitEvent");
        fails("hipStreamWaitEvent", hipStreamQuery(later), hipErrorNotReady);
        must(hipStreamSynchronize(later), "hipStreamSynchronize");
        must(hipStreamDestroy(later), "hipStreamDestroy");
        const hipError_t twice = hipStreamDestroy(later);
        fails("hipStreamDestroy", twice, hipErrorInvalidHandle);
        return hipSuccess;
    });
    int least = 9, greatest = 9, priority = 9;
    must(hipDeviceGetStreamPriorityRange(&least, &greatest), "hipDeviceGetStreamPriorityRange");
    is("priorities", least > greatest, 1);
    hipStream_t stream;
    must(hipStreamCreateWithPriority(&stream, hipStreamNonBlocking, greatest), "hipStreamCreateWithPriority");
    must(hipStreamGetPriority(stream, &priority), "hipStreamGetPriority");
    is("hipStreamCreateWithPriority", priority, greatest);
    is("hipGetStreamDeviceId", hipGetStreamDeviceId(stream), 0);
    hipEvent_t first, second;
    float ms = -1;
    must(hipEventCreate(&first), "hipEventCreate");
    must(hipEventCreate(&second), "hipEventCreate");
    must(hipEventRecord(first, stream), "hipEventRecord");
    must(hipEventRecord(second, stream), "hipEventRecord");
    must(hipEventElapsedTime(&ms, first, second), "hipEventElapsedTime");
    is("hipEventElapsedTime", ms >= 0, 1);

    hipGraph_t graph;
    hipGraphExec_t exec;
    must(hipStreamBeginCapture(stream, hipStreamCaptureModeGlobal), "hipStreamBeginCapture");
    add_total<<<1, 1, 0, stream>>>(100);
    must(hipStreamEndCapture(stream, &graph), "hipStreamEndCapture");
    is("captured only", total, 133);
    must(hipGraphInstantiate(&exec, graph, nullptr, nullptr, 0), "hipGraphInstantiate");
    for (int i = 0; i < 3; ++i) must(hipGraphLaunch(exec, stream), "hipGraphLaunch");
    must(hipStreamSynchronize(stream), "hipStreamSynchronize");
    is("hipGraphLaunch", total, 433);
    must(hipGraphExecDestroy(exec), "hipGraphExecDestroy");
    fails("hipGraphExecDestroy", hipGraphLaunch(exec, stream), hipErrorInvalidValue);
    must(hipGraphDestroy(graph), "hipGraphDestroy");
    size_t nodes = 0;
    fails("hipGraphDestroy", hipGraphGetNodes(graph, nullptr, &nodes), hipErrorInvalidValue);
}

void device() {
    int count = 0, current = 7, can = 7, wave = 0;
    must(hipGetDeviceCount(&count), "hipGetDeviceCount");
    must(hipGetDevice(&current), "hipGetDevice");
    must(hipSetDevice(0), "hipSetDevice");
    is("devices", count, 1);
    is("hipGetDevice", current, 0);
    fails("hipSetDevice", hipSetDevice(5), hipErrorInvalidDevice);
    must(hipDeviceGetAttribute(&wave, hipDeviceAttributeWarpSize, 0), "hipDeviceGetAttribute");
    is("hipDeviceGetAttribute", wave, 64);
    hipDeviceProp_tR0000 properties{};
    must(hipGetDeviceProperties(&properties, 0), "hipGetDeviceProperties");
    is("hipGetDeviceProperties", properties.warpSize, 64);
    hipDeviceProp_tR0600 newer{};
    must(hipGetDevicePropertiesR0600(&newer, 0), "hipGetDevicePropertiesR0600");
    is("hipGetDevicePropertiesR0600", std::string(newer.name) == properties.name && newer.name[0] != 0, 1);
    must(hipDeviceCanAccessPeer(&can, 0, 0), "hipDeviceCanAccessPeer");
    is("hipDeviceCanAccessPeer", can, 0);
    fails("hipDeviceEnablePeerAccess", hipDeviceEnablePeerAccess(0, 0), hipErrorInvalidDevice);
    fails("hipDeviceDisablePeerAccess", hipDeviceDisablePeerAccess(0), hipErrorInvalidDevice);
    fails("hipDeviceCanAccessPeer", hipDeviceCanAccessPeer(&can, 0, 1), hipErrorInvalidDevice);
    size_t heap = 0;
    must(hipDeviceSetLimit(hipLimitMallocHeapSize, 12 << 20), "hipDeviceSetLimit");
    must(hipDeviceGetLimit(&heap, hipLimitMallocHeapSize), "hipDeviceGetLimit");
    is("hipDeviceSetLimit", heap, 12 << 20);
    must(hipFuncSetCacheConfig(reinterpret_cast<const void*>(scale), hipFuncCachePreferL1), "hipFuncSetCacheConfig");
    must(hipFuncSetAttribute(reinterpret_cast<const void*>(scale), hipFuncAttributeMaxDynamicSharedMemorySize, 4096), "hipFuncSetAttribute");
    fails("hipFuncSetAttribute", hipFuncSetAttribute(&heap, hipFuncAttributeMaxDynamicSharedMemorySize, 64), hipErrorInvalidDeviceFunction);
    int blocks = 0;
    must(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 1024, 0), "hipOccupancyMaxActiveBlocksPerMultiprocessor");
    is("hipOccupancyMaxActiveBlocksPerMultiprocessor", blocks, 2);
    must(hipOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, scale, 2048, 0), "hipOccupancyMaxActiveBlocksPerMultiprocessor");
    is("hipOccupancyMaxActiveBlocksPerMultiprocessor", blocks, 0);
}

void errors() {
    static_cast<void>(hipGetLastError());
    is("error names", std::string(hipGetErrorName(hipErrorInvalidValue)) == "hipErrorInvalidValue", 1);
    is("error texts", std::string(hipGetErrorString(hipErrorInvalidValue)) == "invalid argument", 1);
    static_cast<void>(hipFree(&failures));
    fails("hipPeekAtLastError", hipPeekAtLastError(), hipErrorInvalidValue);
    fails("hipGetLastError", hipGetLastError(), hipErrorInvalidValue);
    fails("no error", hipPeekAtLastError(), hipSuccess);
}

}  // namespace

int main() {
    memory();
    host_memory();
    pools();
    streams();
    device();
    errors();
    must(hipDeviceReset(), "hipDeviceReset");
    return verdict();
}
