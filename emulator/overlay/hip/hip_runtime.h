// Put before the HIP headers of a distribution that are older than HIP 6.2: the installed header, then what programs
// written for newer versions also use from it.
#pragma once

// clang 22 no longer defines it; every GPU that the emulator knows runs waves of 64 lanes.
#if !defined(__AMDGCN_WAVEFRONT_SIZE)
#define __AMDGCN_WAVEFRONT_SIZE 64
#endif

#include_next <hip/hip_runtime.h>

// Compilers that see host code only have no device functions.
#if defined(__clang__) && defined(__HIP__)

// The clock behind wall_clock64, which newer device libraries have; HIP 5.7 declares it with this type.
extern "C" __device__ inline unsigned long long __ockl_steadyctr_u64() {
#if defined(__HIP_DEVICE_COMPILE__)
  return __builtin_amdgcn_s_memrealtime();
#else
  return 0;
#endif
}

// HIP 5's barriers call it; compilers since clang 20 no longer link the device library that holds it (hip.bc).
#if defined(__HIP_DEVICE_COMPILE__) && __clang_major__ > 19
#define HIPSCOPE_FENCE(Order, Scope)                                                     \
  switch (Order) {                                                                       \
    case __memory_order_relaxed: break;                                                  \
    case __memory_order_acquire: __builtin_amdgcn_fence(__ATOMIC_ACQUIRE, Scope); break; \
    case __memory_order_release: __builtin_amdgcn_fence(__ATOMIC_RELEASE, Scope); break; \
    case __memory_order_acq_rel: __builtin_amdgcn_fence(__ATOMIC_ACQ_REL, Scope); break; \
    case __memory_order_seq_cst: __builtin_amdgcn_fence(__ATOMIC_SEQ_CST, Scope); break; \
  }
extern "C" __device__ inline void __atomic_work_item_fence(__cl_mem_fence_flags, __memory_order order, __memory_scope scope) {
  // Order and scope of a fence are constants for the compiler, so each pair that the headers pass has its own.
  switch (scope) {
    case __memory_scope_work_item: break;
    case __memory_scope_sub_group: HIPSCOPE_FENCE(order, "wavefront"); break;
    case __memory_scope_work_group: HIPSCOPE_FENCE(order, "workgroup"); break;
    case __memory_scope_device: HIPSCOPE_FENCE(order, "agent"); break;
    case __memory_scope_all_svm_devices: HIPSCOPE_FENCE(order, ""); break;
  }
}
#undef HIPSCOPE_FENCE
#endif

#include <hip/hipscope_device_functions.h>

#endif
