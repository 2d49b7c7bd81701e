// HIP's names for CUDA's: enough of the runtime API and of the device functions to compile programs of others with nvcc.
// Used by benchmarks/edits_on_nvidia.py only; a program that needs more does not compile and has no row.
#pragma once

#include <cooperative_groups.h>
#include <cuda_fp16.h>
#include <cuda_runtime.h>

#include <cassert>
#include <cfloat>
#include <climits>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#define __HIP_PLATFORM_NVIDIA__ 1

// Types and constants.
typedef cudaError_t hipError_t;
typedef cudaDeviceProp hipDeviceProp_t;
typedef cudaEvent_t hipEvent_t;
typedef cudaStream_t hipStream_t;
typedef cudaMemcpyKind hipMemcpyKind;
typedef cudaFuncAttributes hipFuncAttributes;

#define hipSuccess cudaSuccess
#define hipErrorInvalidValue cudaErrorInvalidValue
#define hipErrorMemoryAllocation cudaErrorMemoryAllocation
#define hipErrorOutOfMemory cudaErrorMemoryAllocation
#define hipMemcpyHostToDevice cudaMemcpyHostToDevice
#define hipMemcpyDeviceToHost cudaMemcpyDeviceToHost
#define hipMemcpyDeviceToDevice cudaMemcpyDeviceToDevice
#define hipMemcpyHostToHost cudaMemcpyHostToHost
#define hipMemcpyDefault cudaMemcpyDefault
#define hipHostMallocDefault cudaHostAllocDefault
#define hipHostMallocMapped cudaHostAllocMapped
#define hipHostMallocPortable cudaHostAllocPortable
#define hipMemAttachGlobal cudaMemAttachGlobal
#define hipStreamDefault cudaStreamDefault
#define hipStreamNonBlocking cudaStreamNonBlocking
#define hipEventDefault cudaEventDefault
#define hipEventDisableTiming cudaEventDisableTiming
#define hipFuncCachePreferL1 cudaFuncCachePreferL1
#define hipFuncCachePreferShared cudaFuncCachePreferShared
#define HIP_SYMBOL(name) name

// Memory.
#define hipMalloc cudaMalloc
#define hipMallocAsync cudaMallocAsync
#define hipMallocManaged cudaMallocManaged
#define hipMallocPitch cudaMallocPitch
#define hipHostMalloc cudaHostAlloc
#define hipHostAlloc cudaHostAlloc
#define hipMallocHost cudaMallocHost
#define hipHostRegister cudaHostRegister
#define hipHostUnregister cudaHostUnregister
#define hipHostGetDevicePointer cudaHostGetDevicePointer
#define hipFree cudaFree
#define hipFreeAsync cudaFreeAsync
#define hipHostFree cudaFreeHost
#define hipFreeHost cudaFreeHost
#define hipMemcpy cudaMemcpy
#define hipMemcpyAsync cudaMemcpyAsync
#define hipMemcpy2D cudaMemcpy2D
#define hipMemcpyToSymbol cudaMemcpyToSymbol
#define hipMemcpyToSymbolAsync cudaMemcpyToSymbolAsync
#define hipMemcpyFromSymbol cudaMemcpyFromSymbol
#define hipGetSymbolAddress cudaGetSymbolAddress
#define hipMemset cudaMemset
#define hipMemsetAsync cudaMemsetAsync
#define hipMemset2D cudaMemset2D
#define hipMemGetInfo cudaMemGetInfo
#define hipMemPrefetchAsync cudaMemPrefetchAsync

// Devices, streams, events, launches.
#define hipGetDevice cudaGetDevice
#define hipSetDevice cudaSetDevice
#define hipGetDeviceCount cudaGetDeviceCount
#define hipGetDeviceProperties cudaGetDeviceProperties
#define hipDeviceGetAttribute cudaDeviceGetAttribute
#define hipDeviceAttributeMultiprocessorCount cudaDevAttrMultiProcessorCount
#define hipDeviceAttributeMaxThreadsPerBlock cudaDevAttrMaxThreadsPerBlock
#define hipDeviceAttributeMaxSharedMemoryPerBlock cudaDevAttrMaxSharedMemoryPerBlock
#define hipDeviceAttributeWarpSize cudaDevAttrWarpSize
#define hipDeviceReset cudaDeviceReset
#define hipDeviceSynchronize cudaDeviceSynchronize
#define hipDeviceSetCacheConfig cudaDeviceSetCacheConfig
#define hipFuncSetCacheConfig cudaFuncSetCacheConfig
#define hipFuncSetAttribute cudaFuncSetAttribute
#define hipFuncAttributeMaxDynamicSharedMemorySize cudaFuncAttributeMaxDynamicSharedMemorySize
#define hipGetLastError cudaGetLastError
#define hipPeekAtLastError cudaPeekAtLastError
#define hipGetErrorString cudaGetErrorString
#define hipGetErrorName cudaGetErrorName
#define hipStreamCreate cudaStreamCreate
#define hipStreamCreateWithFlags cudaStreamCreateWithFlags
#define hipStreamDestroy cudaStreamDestroy
#define hipStreamSynchronize cudaStreamSynchronize
#define hipStreamWaitEvent cudaStreamWaitEvent
#define hipEventCreate cudaEventCreate
#define hipEventCreateWithFlags cudaEventCreateWithFlags
#define hipEventDestroy cudaEventDestroy
#define hipEventElapsedTime cudaEventElapsedTime
#define hipEventQuery cudaEventQuery
#define hipEventRecord cudaEventRecord
#define hipEventSynchronize cudaEventSynchronize
#define hipLaunchCooperativeKernel cudaLaunchCooperativeKernel
#define hipOccupancyMaxActiveBlocksPerMultiprocessor cudaOccupancyMaxActiveBlocksPerMultiprocessor
#define hipOccupancyMaxPotentialBlockSize cudaOccupancyMaxPotentialBlockSize
#define hipLaunchKernelGGL(kernel, grid, block, shared, stream, ...) kernel<<<grid, block, shared, stream>>>(__VA_ARGS__)
#define HIP_KERNEL_NAME(...) __VA_ARGS__
#define HIP_DYNAMIC_SHARED(type, name) extern __shared__ type name[];

// Device code: HIP's wave functions take no mask.
#define hipThreadIdx_x threadIdx.x
#define hipThreadIdx_y threadIdx.y
#define hipThreadIdx_z threadIdx.z
#define hipBlockIdx_x blockIdx.x
#define hipBlockIdx_y blockIdx.y
#define hipBlockIdx_z blockIdx.z
#define hipBlockDim_x blockDim.x
#define hipBlockDim_y blockDim.y
#define hipBlockDim_z blockDim.z
#define hipGridDim_x gridDim.x
#define hipGridDim_y gridDim.y
#define hipGridDim_z gridDim.z

template <class T>
__device__ T __shfl(T value, int lane, int width = warpSize)
{
    return __shfl_sync(0xffffffffu, value, lane, width);
}
template <class T>
__device__ T __shfl_down(T value, unsigned by, int width = warpSize)
{
    return __shfl_down_sync(0xffffffffu, value, by, width);
}
template <class T>
__device__ T __shfl_up(T value, unsigned by, int width = warpSize)
{
    return __shfl_up_sync(0xffffffffu, value, by, width);
}
template <class T>
__device__ T __shfl_xor(T value, int mask, int width = warpSize)
{
    return __shfl_xor_sync(0xffffffffu, value, mask, width);
}
template <class T>
__device__ T __builtin_nontemporal_load(const T* from)
{
    return __ldcs(from);
}
template <class T>
__device__ void __builtin_nontemporal_store(T value, T* to)
{
    __stcs(to, value);
}

// Votes without a mask, as 64 bits; nvcc has the names and refuses them since sm_70.
#define __any(condition) __any_sync(0xffffffffu, condition)
#define __all(condition) __all_sync(0xffffffffu, condition)
#define __ballot(condition) ((unsigned long long)__ballot_sync(0xffffffffu, condition))

// Atomics on floats that HIP has and CUDA has not.
__device__ inline float atomicMax(float* at, float value)
{
    int* bits = reinterpret_cast<int*>(at);
    int seen = *bits;
    while (__int_as_float(seen) < value) {
        const int held = atomicCAS(bits, seen, __float_as_int(value));
        if (held == seen)
            break;
        seen = held;
    }
    return __int_as_float(seen);
}
__device__ inline double atomicMax(double* at, double value)
{
    unsigned long long* bits = reinterpret_cast<unsigned long long*>(at);
    unsigned long long seen = *bits;
    while (__longlong_as_double(seen) < value) {
        const unsigned long long held = atomicCAS(bits, seen, __double_as_longlong(value));
        if (held == seen)
            break;
        seen = held;
    }
    return __longlong_as_double(seen);
}
