// The part of HIP's C ABI that the runtime implements: error codes, small structs, the two device property layouts.
// Values and layouts are those of the HIP headers (5.x for the old one, 6.x for R0600); names are ours.
#pragma once

#include <cstddef>
#include <cstdint>

namespace hipscope {
struct Event;
struct Function;
struct Graph;
struct Stream;
}  // namespace hipscope

namespace hipscope::abi {

using Error = int;

namespace error {
inline constexpr Error success = 0, invalid_value = 1, out_of_memory = 2, not_initialized = 3, invalid_configuration = 9, invalid_pitch = 12,
                       invalid_symbol = 13, invalid_device_pointer = 17, invalid_memcpy_direction = 21,
                       missing_configuration = 52, invalid_device_function = 98, no_device = 100, invalid_device = 101, invalid_image = 200,
                       invalid_context = 201, no_binary_for_gpu = 209, file_not_found = 301, invalid_handle = 400,
                       not_found = 500, not_ready = 600, illegal_address = 700, launch_out_of_resources = 701,
                       peer_already_enabled = 704, peer_not_enabled = 705, host_already_registered = 712,
                       host_not_registered = 713, launch_failure = 719, cooperative_too_large = 720, not_supported = 801,
                       stream_capture_unsupported = 900, stream_capture_invalidated = 901, stream_capture_merge = 902,
                       stream_capture_unmatched = 903, stream_capture_unjoined = 904, stream_capture_isolation = 905,
                       stream_capture_implicit = 906, captured_event = 907, stream_capture_wrong_thread = 908, graph_update_failure = 910,
                       illegal_state = 401, unknown = 999;
}  // namespace error

struct Dim3 {
    std::uint32_t x = 1, y = 1, z = 1;
};

enum class CopyKind : int { host_to_host, host_to_device, device_to_host, device_to_device, infer };

struct Extent {
    std::size_t width, height, depth;
};
struct Pos {
    std::size_t x, y, z;
};
struct PitchedPtr {
    void* ptr;
    std::size_t pitch, xsize, ysize;
};
struct Memcpy3DParms {
    void* src_array;
    Pos src_pos;
    PitchedPtr src_ptr;
    void* dst_array;
    Pos dst_pos;
    PitchedPtr dst_ptr;
    Extent extent;
    int kind;
};

struct Memcpy3DPeerParms {
    void* src_array;
    Pos src_pos;
    PitchedPtr src_ptr;
    int src_device;
    void* dst_array;
    Pos dst_pos;
    PitchedPtr dst_ptr;
    int dst_device;
    Extent extent;
};
/// HIP_LAUNCH_CONFIG.
struct LaunchAttribute;
struct DriverLaunchConfig {
    unsigned grid[3], workgroup[3], dynamic_lds;
    Stream* stream;
    LaunchAttribute* attributes;
    unsigned attribute_count;
};
/// hipStreamBatchMemOpParams: the part that waits and writes have in common.
struct StreamMemoryOperation {
    int type;
    void* address;
    std::uint64_t value;
    unsigned flags;
    char rest[16];
};

/// hipLaunchParams and hipFunctionLaunchParams: one device's part of a launch on several.
struct LaunchParams {
    void* function;
    Dim3 grid, workgroup;
    void** arguments;
    std::size_t dynamic_lds;
    Stream* stream;
};
struct FunctionLaunchParams {
    Function* function;
    unsigned grid[3], workgroup[3], dynamic_lds;
    Stream* stream;
    void** arguments;
};
/// hipLaunchConfig_t of HIP 6.4; an attribute is a number and a union of 64 bytes.
inline constexpr int kAttributeCooperative = 2;
struct LaunchAttribute {
    int id, unused;
    int value;
    char rest[60];
};
struct LaunchConfig {
    Dim3 grid, workgroup;
    std::size_t dynamic_lds;
    Stream* stream;
    LaunchAttribute* attributes;
    unsigned attribute_count;
};
/// One side of hip_Memcpy2D.
struct DriverCopySide {
    std::size_t x, y;
    unsigned type;  // its numbering depends on the version of HIP; which pointer is set does not
    const void* host;
    void *device, *array;
    std::size_t pitch;
};
struct DriverMemcpy2D {
    DriverCopySide from, to;
    std::size_t width, height;
};
struct KernelNodeParams {
    Dim3 workgroup;
    void** extra;
    void* function;
    Dim3 grid;
    void** arguments;
    unsigned dynamic_lds;
};
/// `width` counts elements.
struct MemsetParams {
    void* dst;
    unsigned element_size;
    std::size_t height, pitch;
    unsigned value;
    std::size_t width;
};
struct MemLocation {
    int type, id;
};
inline constexpr int kLocationDevice = 1, kAccessNone = 0, kAccessReadWrite = 3;
struct MemAccessDesc {
    int location_type, location_id, flags;
};
struct MemPoolProps {
    int allocation_type, handle_types, location_type, location_id;
    void* security;
    unsigned char reserved[64];
};
struct MemAllocNodeParams {
    MemPoolProps pool;
    const MemAccessDesc* access;
    std::size_t access_count, bytes;
    void* pointer;
};
/// hipMemAllocationProp: the same fields in another order before HIP 6; handed back as they came.
struct MemAllocationProp {
    char bytes[32];
};
struct HostNodeParams {
    void (*function)(void*);
    void* data;
};
/// HIP_MEMSET_NODE_PARAMS.
struct DriverMemsetParams {
    void* dst;
    std::size_t pitch;
    unsigned value, element_size;
    std::size_t width, height;
};
/// HIP_MEMCPY3D; its numbers are `unsigned` before HIP 6, `size_t` since.
template <class Number>
struct DriverMemcpy3DSide {
    Number x, y, z, level;
    unsigned type;
    const void* host;
    void *device, *array;
    Number pitch, height;
};
template <class Number>
struct DriverMemcpy3DOf {
    DriverMemcpy3DSide<Number> from, to;
    Number width, height, depth;
};
struct DriverMemcpy3D;  // one of the two
struct GraphInstantiateParams {
    void* culprit;
    unsigned long long flags;
    int result;
    Stream* upload;
};
struct MemcpyNodeParams {
    int flags, reserved[3];
    Memcpy3DParms params;
};
struct GraphNodeParams {
    int type, reserved0[3];
    union {
        long long reserved1[29];
        KernelNodeParams kernel;
        MemcpyNodeParams copy;
        MemsetParams fill;
        HostNodeParams host;
        Graph* child;
        Event* event;
        MemAllocNodeParams allocation;
        void* pointer;
    };
    long long reserved2;
};

struct MemoryTypes {
    int host, device, managed;
};
/// Values of hipMemoryType: HIP 6 took over CUDA's, and a value of its own for managed memory.
constexpr MemoryTypes kMemoryTypes5{0, 1, 0}, kMemoryTypes6{1, 2, 3};
inline const MemoryTypes& memory_types(int hip_major) { return hip_major < 6 ? kMemoryTypes5 : kMemoryTypes6; }

/// hipPointerAttribute_t; in all versions with this layout.
struct PointerAttributes {
    int type, device;
    void *device_pointer, *host_pointer;
    int is_managed;
    unsigned allocation_flags;
};

struct FunctionAttributes {
    int binary_version, cache_mode_ca;
    std::size_t const_size_bytes, local_size_bytes;
    int max_dynamic_shared_size_bytes, max_threads_per_block, num_regs, preferred_shared_memory_carveout, ptx_version;
    std::size_t shared_size_bytes;
};

/// Of the one device; without its end, 16 bytes.
inline constexpr char kUuid[] = "GPU-hipscope-emu";

/// hipDeviceProp_t up to HIP 5.x.
struct DevicePropertiesOld {
    char name[256];
    std::size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize, maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate, memoryClockRate,
        memoryBusWidth;
    std::size_t totalConstMem;
    int major, minor, multiProcessorCount, l2CacheSize, maxThreadsPerMultiProcessor, computeMode, clockInstructionRate;
    unsigned arch;
    int concurrentKernels, pciDomainID, pciBusID, pciDeviceID;
    std::size_t maxSharedMemoryPerMultiProcessor;
    int isMultiGpuBoard, canMapHostMemory, gcnArch;
    char gcnArchName[256];
    int integrated, cooperativeLaunch, cooperativeMultiDeviceLaunch, maxTexture1DLinear, maxTexture1D, maxTexture2D[2],
        maxTexture3D[3];
    unsigned *hdpMemFlushCntl, *hdpRegFlushCntl;
    std::size_t memPitch, textureAlignment, texturePitchAlignment;
    int kernelExecTimeoutEnabled, ECCEnabled, tccDriver, unmatchedFunc, unmatchedGridDim, unmatchedBlockDim,
        unmatchedSharedMem, isLargeBar, asicRevision, managedMemory, directManagedMemAccessFromHost,
        concurrentManagedAccess, pageableMemoryAccess, pageableMemoryAccessUsesHostPageTables;
};

/// hipDeviceProp_tR0600 of HIP 6.
struct DevicePropertiesR0600 {
    char name[256];
    char uuid[16];
    char luid[8];
    unsigned luidDeviceNodeMask;
    std::size_t totalGlobalMem, sharedMemPerBlock;
    int regsPerBlock, warpSize;
    std::size_t memPitch;
    int maxThreadsPerBlock, maxThreadsDim[3], maxGridSize[3], clockRate;
    std::size_t totalConstMem;
    int major, minor;
    std::size_t textureAlignment, texturePitchAlignment;
    int deviceOverlap, multiProcessorCount, kernelExecTimeoutEnabled, integrated, canMapHostMemory, computeMode;
    int maxTexture1D, maxTexture1DMipmap, maxTexture1DLinear, maxTexture2D[2], maxTexture2DMipmap[2],
        maxTexture2DLinear[3], maxTexture2DGather[2], maxTexture3D[3], maxTexture3DAlt[3], maxTextureCubemap,
        maxTexture1DLayered[2], maxTexture2DLayered[3], maxTextureCubemapLayered[2], maxSurface1D, maxSurface2D[2],
        maxSurface3D[3], maxSurface1DLayered[2], maxSurface2DLayered[3], maxSurfaceCubemap, maxSurfaceCubemapLayered[2];
    std::size_t surfaceAlignment;
    int concurrentKernels, ECCEnabled, pciBusID, pciDeviceID, pciDomainID, tccDriver, asyncEngineCount,
        unifiedAddressing, memoryClockRate, memoryBusWidth, l2CacheSize, persistingL2CacheMaxSize,
        maxThreadsPerMultiProcessor, streamPrioritiesSupported, globalL1CacheSupported, localL1CacheSupported;
    std::size_t sharedMemPerMultiprocessor;
    int regsPerMultiprocessor, managedMemory, isMultiGpuBoard, multiGpuBoardGroupID, hostNativeAtomicSupported,
        singleToDoublePrecisionPerfRatio, pageableMemoryAccess, concurrentManagedAccess, computePreemptionSupported,
        canUseHostPointerForRegisteredMem, cooperativeLaunch, cooperativeMultiDeviceLaunch;
    std::size_t sharedMemPerBlockOptin;
    int pageableMemoryAccessUsesHostPageTables, directManagedMemAccessFromHost, maxBlocksPerMultiProcessor,
        accessPolicyMaxWindowSize;
    std::size_t reservedSharedMemPerBlock;
    int hostRegisterSupported, sparseHipArraySupported, hostRegisterReadOnlySupported,
        timelineSemaphoreInteropSupported, memoryPoolsSupported, gpuDirectRDMASupported;
    unsigned gpuDirectRDMAFlushWritesOptions;
    int gpuDirectRDMAWritesOrdering;
    unsigned memoryPoolSupportedHandleTypes;
    int deferredMappingHipArraySupported, ipcEventSupported, clusterLaunch, unifiedFunctionPointers;
    int reserved[63];
    int hipReserved[32];
    char gcnArchName[256];
    std::size_t maxSharedMemoryPerMultiProcessor;
    int clockInstructionRate;
    unsigned arch;
    unsigned *hdpMemFlushCntl, *hdpRegFlushCntl;
    int unmatchedFunc, unmatchedGridDim, unmatchedBlockDim, unmatchedSharedMem, isLargeBar, asicRevision;
};

}  // namespace hipscope::abi
