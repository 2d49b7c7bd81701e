// The device: one, described by the device file. Properties in both layouts, attributes, limits, occupancy, functions.
#include <algorithm>
#include <array>
#include <cstdlib>
#include <cstring>
#include <string>

#include "hip/api.hpp"
#include "timing/xcd.hpp"

namespace {

using namespace hipscope;
using abi::Error;

struct DeviceNumbers {
    std::string name, arch;
    int compute_units, clock_khz, memory_clock_khz, bus_bits, l2_bytes, simds, waves_per_simd, lds_bytes, major, minor, integrated, xcds, gcn_arch;
    std::size_t memory_bytes;
};

DeviceNumbers numbers(Runtime& runtime) {
    const auto whole = [&](const char* key, double otherwise) { return static_cast<int>(runtime.number(key, otherwise)); };
    DeviceNumbers d;
    d.name = runtime.device ? runtime.device->text("product_name", "hipscope emulator") : "hipscope emulator";
    d.arch = runtime.device ? runtime.device->text("arch", "gfx942") : "gfx942";
    d.compute_units = whole("compute_units", 304);
    d.clock_khz = static_cast<int>(runtime.number("clock_mhz", 2100) * 1000);
    d.memory_clock_khz = static_cast<int>(runtime.number("memory_clock_mhz", 1300) * 1000);
    d.bus_bits = whole("memory_bus_bits", 8192);
    d.l2_bytes = whole("l2_bytes", 4 << 20);
    d.simds = whole("simds_per_cu", 4);
    d.waves_per_simd = whole("max_waves_per_simd", 8);
    d.lds_bytes = whole("lds_bytes", 65536);
    d.major = 9;
    d.minor = d.arch == "gfx942" ? 4 : d.arch == "gfx950" ? 5 : 0;
    d.integrated = whole("integrated", 0);
    d.xcds = whole("xcds", 8);
    d.gcn_arch = d.arch == "gfx90a" ? 910 : std::atoi(d.arch.c_str() + 3);  // major, minor and stepping as decimal digits
    d.memory_bytes = static_cast<std::size_t>(runtime.memory.limit());
    return d;
}

template <std::size_t n>
void put_text(char (&to)[n], const std::string& text) {
    std::strncpy(to, text.c_str(), n - 1);
}

/// Fields that both layouts have.
template <class Properties>
void fill_properties(Properties& p, const DeviceNumbers& d) {
    std::memset(&p, 0, sizeof p);
    put_text(p.name, d.name);
    put_text(p.gcnArchName, d.arch + ":sramecc+:xnack-");
    p.totalGlobalMem = d.memory_bytes;
    p.sharedMemPerBlock = static_cast<std::size_t>(d.lds_bytes);
    p.maxSharedMemoryPerMultiProcessor = static_cast<std::size_t>(d.lds_bytes);
    p.regsPerBlock = 65536;
    p.warpSize = 64;
    p.maxThreadsPerBlock = 1024;
    std::fill(std::begin(p.maxThreadsDim), std::end(p.maxThreadsDim), 1024);
    p.maxGridSize[0] = 2147483647;
    p.maxGridSize[1] = p.maxGridSize[2] = 65536;
    p.clockRate = d.clock_khz;
    p.memoryClockRate = d.memory_clock_khz;
    p.memoryBusWidth = d.bus_bits;
    p.totalConstMem = 2147483647;
    p.major = d.major;
    p.minor = d.minor;
    p.multiProcessorCount = d.compute_units;
    p.l2CacheSize = d.l2_bytes;
    p.maxThreadsPerMultiProcessor = d.simds * d.waves_per_simd * 64;
    p.clockInstructionRate = 100000;
    p.arch = 0x7ffff;  // all features of the arch bit field that HIP defines for compute GPUs
    p.concurrentKernels = 1;
    p.canMapHostMemory = 1;
    p.integrated = d.integrated;
    p.cooperativeLaunch = 1;
    p.memPitch = 2147483647;
    p.textureAlignment = p.texturePitchAlignment = 256;
    p.isLargeBar = 1;
    p.managedMemory = p.concurrentManagedAccess = 1;
    p.pciBusID = 1;
}

/// The rows of hipDeviceAttribute_t that are not 0 here; the numbers are the enumeration's order.
int attribute(const DeviceNumbers& d, int which) {
    constexpr int whole_range = 2147483647;
    const int waves = d.simds * d.waves_per_simd;
    switch (which) {
        case 2: return 2;                 // AsyncEngineCount
        case 3: case 4: case 8: case 9: case 10: case 24: case 85: case 88: return 1;  // mapped, concurrent, managed,
                                          // cooperative, unified addressing, memory pools
        case 5: return d.clock_khz;       // ClockRate
        case 16: return d.integrated;     // Integrated
        case 19: return d.l2_bytes;       // L2CacheSize
        case 23: return d.major;          // ComputeCapabilityMajor
        case 25: return waves;            // MaxBlocksPerMultiProcessor
        case 26: case 27: case 28: case 55: case 56: return 1024;  // MaxBlockDim, MaxThreadsDim, MaxThreadsPerBlock
        case 29: case 58: case 83: return whole_range;             // MaxGridDimX, MaxPitch, TotalConstantMemory
        case 30: case 31: return 65536;   // MaxGridDimY, Z
        case 57: return waves * 64;       // MaxThreadsPerMultiProcessor
        case 59: return d.bus_bits;       // MemoryBusWidth
        case 60: return d.memory_clock_khz;
        case 61: return d.minor;          // ComputeCapabilityMinor
        case 63: return d.compute_units;  // MultiprocessorCount
        case 67: return 1;                // PciBusId
        case 71: return 65536;            // MaxRegistersPerBlock
        case 72: return 65536 * 8;        // MaxRegistersPerMultiprocessor
        case 74: case 75: case 76: return d.lds_bytes;  // shared memory per block, opt-in, per multiprocessor
        case 81: case 82: return 256;     // TextureAlignment, TexturePitchAlignment
        case 84: return static_cast<int>(std::min<std::size_t>(d.memory_bytes, whole_range));
        case 87: return 64;               // WarpSize
        default: return 0;
    }
}

/// The attributes of AMD alone, numbered from here.
constexpr int kAmdSpecific = 10000;
int amd_attribute(const DeviceNumbers& d, int which) {
    switch (which - kAmdSpecific) {
        case 0: case 17: return 100000;  // ClockInstructionRate, WallClockRate: kHz of s_memrealtime
        case 1: return 0x7ffff;          // Arch
        case 2: return d.lds_bytes;      // MaxSharedMemoryPerMultiprocessor
        case 3: return d.gcn_arch;
        case 11: case 13: case 16: return 1;  // IsLargeBar, CanUseStreamWaitValue, FineGrainSupport
        case 15: return d.compute_units;      // PhysicalMultiProcessorCount
        case 18: return d.xcds;
        case 19: return 512;  // MaxAvailableVgprsPerThread
        default: return 0;
    }
}

Error valid_device(int device) { return device == 0 ? abi::error::success : fail(abi::error::invalid_device); }

constexpr int kLargestWorkgroup = 1024;

Error occupancy(int* blocks, Function* function, int block_size, std::size_t dynamic_lds) {
    Call call;
    if (blocks == nullptr || function == nullptr || block_size <= 0) return fail(abi::error::invalid_value);
    if (!call->resolve(*function)) return fail(abi::error::invalid_device_function);
    if (block_size > kLargestWorkgroup) {  // as in HIP, not an error
        *blocks = 0;
        return abi::error::success;
    }
    PreparedLaunch launch;
    launch.launch.kernel = function->kernel;
    launch.lds_bytes = function->kernel->lds_bytes + static_cast<std::uint32_t>(dynamic_lds);
    launch.waves_per_group = static_cast<std::uint32_t>((block_size + 63) / 64);
    *blocks = call->groups_per_cu(launch);
    return abi::error::success;
}

Error occupancy_of_stub(int* blocks, const void* stub, int block_size, std::size_t dynamic_lds) {
    Call call;
    const auto function = call->functions.find(stub);
    if (function == call->functions.end()) return fail(abi::error::invalid_device_function);
    return occupancy(blocks, &function->second, block_size, dynamic_lds);
}

/// The block size with the most resident waves; the largest of those.
Error best_block(int* grid, int* block, Function* function, std::size_t dynamic_lds, int limit) {
    Call call;
    if (grid == nullptr || block == nullptr || function == nullptr) return fail(abi::error::invalid_value);
    if (!call->resolve(*function)) return fail(abi::error::invalid_device_function);
    const int largest = std::min<int>(limit > 0 ? limit : kLargestWorkgroup, static_cast<int>(function->kernel->max_workgroup_size));
    int best = 0;
    for (int size = largest / 64 * 64; size >= 64; size -= 64) {
        int blocks = 0;
        if (const Error e = occupancy(&blocks, function, size, dynamic_lds); e != abi::error::success) return e;
        if (blocks * size <= best) continue;
        best = blocks * size;
        *block = size;
        *grid = blocks * static_cast<int>(call->number("compute_units", 304));
    }
    return abi::error::success;
}

Error outside_captures() { return Call()->spoils_capture() ? fail(abi::error::stream_capture_unsupported) : abi::error::success; }

Function* function_of(Runtime& runtime, const void* stub) {
    const auto found = runtime.functions.find(stub);
    return found == runtime.functions.end() ? nullptr : &found->second;
}

}  // namespace

HIPSCOPE_API Error hipInit(unsigned) { return abi::error::success; }
HIPSCOPE_API Error hipDriverGetVersion(int* version) { *version = 60300000; return abi::error::success; }
HIPSCOPE_API Error hipRuntimeGetVersion(int* version) { *version = 60300000; return abi::error::success; }
HIPSCOPE_API Error hipGetDeviceCount(int* count) {
    if (count == nullptr) return fail(abi::error::invalid_value);
    *count = 1;
    return abi::error::success;
}
HIPSCOPE_API Error hipGetDevice(int* device) {
    if (device == nullptr) return fail(abi::error::invalid_value);
    *device = 0;
    return abi::error::success;
}
HIPSCOPE_API Error hipSetDevice(int device) { return valid_device(device); }
HIPSCOPE_API Error hipDeviceGet(int* device, int ordinal) {
    if (device != nullptr) *device = 0;
    return valid_device(ordinal);
}
HIPSCOPE_API Error hipDeviceSynchronize() {
    Call call;
    if (call->invalidate_captures([](const StreamCapture&) { return true; })) return fail(abi::error::stream_capture_unsupported);
    call->wait_for_all();
    return finish(call->pending());
}
HIPSCOPE_API Error hipDeviceReset() {
    Call()->reset();
    return abi::error::success;
}
HIPSCOPE_API Error hipSetDeviceFlags(unsigned) { return abi::error::success; }
HIPSCOPE_API Error hipGetDeviceFlags(unsigned* flags) { *flags = 0; return abi::error::success; }
HIPSCOPE_API Error hipDeviceGetName(char* name, int length, int device) {
    if (name == nullptr || length <= 0) return fail(abi::error::invalid_value);
    std::strncpy(name, numbers(Call().runtime).name.c_str(), static_cast<std::size_t>(length) - 1);
    name[length - 1] = '\0';
    return valid_device(device);
}
HIPSCOPE_API Error hipDeviceComputeCapability(int* major, int* minor, int device) {
    const DeviceNumbers d = numbers(Call().runtime);
    *major = d.major;
    *minor = d.minor;
    return valid_device(device);
}
HIPSCOPE_API Error hipDeviceTotalMem(std::size_t* bytes, int device) {
    *bytes = numbers(Call().runtime).memory_bytes;
    return valid_device(device);
}
HIPSCOPE_API Error hipGetDeviceProperties(abi::DevicePropertiesOld* p, int device) {
    if (p == nullptr) return fail(abi::error::invalid_value);
    const DeviceNumbers d = numbers(Call().runtime);
    fill_properties(*p, d);
    p->gcnArch = d.gcn_arch;
    return valid_device(device);
}
/// The older layout under the name that HIP 6 gives it.
HIPSCOPE_API Error hipGetDevicePropertiesR0000(abi::DevicePropertiesOld* p, int device) { return hipGetDeviceProperties(p, device); }
HIPSCOPE_API Error hipGetDevicePropertiesR0600(abi::DevicePropertiesR0600* p, int device) {
    if (p == nullptr) return fail(abi::error::invalid_value);
    const DeviceNumbers d = numbers(Call().runtime);
    fill_properties(*p, d);
    std::copy_n(abi::kUuid, sizeof p->uuid, p->uuid);
    p->unifiedAddressing = p->hostRegisterSupported = p->memoryPoolsSupported = p->unifiedFunctionPointers = 1;
    p->asyncEngineCount = 2;
    p->streamPrioritiesSupported = 1;
    p->hipReserved[0] = d.gcn_arch;  // where our own headers for HIP 5 have gcnArch, which HIP 6 dropped
    p->maxBlocksPerMultiProcessor = d.simds * d.waves_per_simd;
    p->sharedMemPerMultiprocessor = p->sharedMemPerBlockOptin = static_cast<std::size_t>(d.lds_bytes);
    p->regsPerMultiprocessor = 65536 * 8;
    return valid_device(device);
}
HIPSCOPE_API Error hipDeviceGetAttribute(int* value, int which, int device) {
    if (value == nullptr) return fail(abi::error::invalid_value);
    const DeviceNumbers d = numbers(Call().runtime);
    *value = which >= kAmdSpecific ? amd_attribute(d, which) : attribute(d, which);
    return valid_device(device);
}
HIPSCOPE_API Error hipChooseDevice(int* device, const void*) { *device = 0; return abi::error::success; }
HIPSCOPE_API Error hipChooseDeviceR0000(int* device, const void*) { *device = 0; return abi::error::success; }
HIPSCOPE_API Error hipChooseDeviceR0600(int* device, const void*) { *device = 0; return abi::error::success; }
HIPSCOPE_API Error hipDeviceGetLimit(std::size_t* value, int limit) {
    if (value == nullptr || limit < 0 || limit > 2) return fail(abi::error::invalid_value);
    Call call;
    const std::array<std::size_t, 3> values{call->services.stack_limit, 1U << 20U, call->services.heap_limit};  // stack, printf fifo, malloc heap
    *value = values[static_cast<std::size_t>(limit)];
    return abi::error::success;
}
HIPSCOPE_API Error hipDeviceSetLimit(int limit, std::size_t value) {
    if (limit < 0 || limit > 2) return fail(abi::error::invalid_value);
    Call call;
    if (limit == 0) call->services.stack_limit = value;
    if (limit == 2) call->services.heap_limit = value;
    return abi::error::success;
}
HIPSCOPE_API Error hipDeviceGetCacheConfig(int* config) { *config = 0; return abi::error::success; }
HIPSCOPE_API Error hipDeviceSetCacheConfig(int) { return outside_captures(); }
HIPSCOPE_API Error hipDeviceGetSharedMemConfig(int* config) { *config = 0; return abi::error::success; }
HIPSCOPE_API Error hipDeviceSetSharedMemConfig(int) { return outside_captures(); }
HIPSCOPE_API Error hipFuncSetAttribute(const void* stub, int, int) {
    return function_of(Call().runtime, stub) == nullptr ? fail(abi::error::invalid_device_function) : abi::error::success;
}
HIPSCOPE_API Error hipFuncSetCacheConfig(const void*, int) { return abi::error::success; }
HIPSCOPE_API Error hipFuncSetSharedMemConfig(const void*, int) { return abi::error::success; }
HIPSCOPE_API Error hipFuncGetAttributes(abi::FunctionAttributes* out, const void* stub) {
    Call call;
    Function* function = function_of(call.runtime, stub);
    if (out == nullptr || function == nullptr || !call->resolve(*function)) return fail(abi::error::invalid_device_function);
    *out = {};
    out->binary_version = out->ptx_version = 94;
    out->local_size_bytes = function->kernel->scratch_bytes;
    out->shared_size_bytes = function->kernel->lds_bytes;
    out->max_threads_per_block = static_cast<int>(function->kernel->max_workgroup_size);
    out->max_dynamic_shared_size_bytes = numbers(call.runtime).lds_bytes - static_cast<int>(function->kernel->lds_bytes);
    out->num_regs = static_cast<int>(function->kernel->vgprs);
    return abi::error::success;
}
HIPSCOPE_API Error hipFuncGetAttribute(int* value, int which, Function* function) {
    Call call;
    if (value == nullptr || function == nullptr || !call->resolve(*function)) return fail(abi::error::invalid_value);
    const Kernel& k = *function->kernel;
    const int values[] = {static_cast<int>(k.max_workgroup_size), static_cast<int>(k.lds_bytes), 0, static_cast<int>(k.scratch_bytes),
                          static_cast<int>(k.vgprs), 94, 94, 0, numbers(call.runtime).lds_bytes - static_cast<int>(k.lds_bytes), 0};
    if (which < 0 || which >= static_cast<int>(std::size(values))) return fail(abi::error::invalid_value);
    *value = values[which];
    return abi::error::success;
}
HIPSCOPE_API const char* hipKernelNameRefByPtr(const void* stub, void*) {
    Call call;
    const Function* function = function_of(call.runtime, stub);
    return function == nullptr ? nullptr : function->name.c_str();
}
HIPSCOPE_API const char* hipKernelNameRef(Function* function) { return function == nullptr ? nullptr : function->name.c_str(); }

HIPSCOPE_API Error hipOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, const void* stub, int size, std::size_t lds) {
    return occupancy_of_stub(blocks, stub, size, lds);
}
HIPSCOPE_API Error hipOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, const void* stub, int size, std::size_t lds, unsigned) {
    return occupancy_of_stub(blocks, stub, size, lds);
}
HIPSCOPE_API Error hipModuleOccupancyMaxActiveBlocksPerMultiprocessor(int* blocks, Function* f, int size, std::size_t lds) {
    return occupancy(blocks, f, size, lds);
}
HIPSCOPE_API Error hipModuleOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(int* blocks, Function* f, int size, std::size_t lds, unsigned) {
    return occupancy(blocks, f, size, lds);
}
HIPSCOPE_API Error hipOccupancyMaxPotentialBlockSize(int* grid, int* block, const void* stub, std::size_t lds, int limit) {
    Call call;
    return best_block(grid, block, function_of(call.runtime, stub), lds, limit);
}
HIPSCOPE_API Error hipModuleOccupancyMaxPotentialBlockSize(int* grid, int* block, Function* f, std::size_t lds, int limit) {
    return best_block(grid, block, f, lds, limit);
}
HIPSCOPE_API Error hipModuleOccupancyMaxPotentialBlockSizeWithFlags(int* grid, int* block, Function* f, std::size_t lds, int limit, unsigned) {
    return best_block(grid, block, f, lds, limit);
}
/// Dynamic LDS that lets `blocks` workgroups be on a CU together.
HIPSCOPE_API Error hipOccupancyAvailableDynamicSMemPerBlock(std::size_t* bytes, const void* stub, int blocks, int block_size) {
    Call call;
    Function* function = function_of(call.runtime, stub);
    if (bytes == nullptr || blocks <= 0 || block_size <= 0) return fail(abi::error::invalid_value);
    if (function == nullptr || !call->resolve(*function)) return fail(abi::error::invalid_device_function);
    int fit = 0;
    if (const Error e = occupancy(&fit, function, block_size, 0); e != abi::error::success) return e;
    if (fit < blocks) return fail(abi::error::invalid_value);
    const std::size_t share = static_cast<std::size_t>(numbers(call.runtime).lds_bytes / blocks);
    *bytes = share - std::min<std::size_t>(share, function->kernel->lds_bytes);
    return abi::error::success;
}

HIPSCOPE_API Error hipProfilerStart() { return abi::error::success; }
HIPSCOPE_API Error hipProfilerStop() { return abi::error::success; }
