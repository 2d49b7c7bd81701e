// Put before the header of HIP 5: the indices of threads and workgroups are unsigned integers, as they are since HIP 6, so
// that `auto i = threadIdx.x`, `min(threadIdx.x, n)` and `printf("%u", threadIdx.x)` compile. HIP 5 has objects of classes there.
#pragma once

// What it includes has members of these names. The types of vectors in it ask which compiler this is.
#include <hip/amd_detail/amd_hip_common.h>
#include <hip/hip_runtime_api.h>

#define threadIdx hipscope_old_threadIdx
#define blockIdx hipscope_old_blockIdx
#define blockDim hipscope_old_blockDim
#define gridDim hipscope_old_gridDim
#include_next <hip/amd_detail/amd_hip_runtime.h>
#undef threadIdx
#undef blockIdx
#undef blockDim
#undef gridDim

#if defined(__cplusplus) && defined(__clang__) && defined(__HIP__)
namespace hipscope_overlay {
template <typename Source>
struct Coordinates {
  __declspec(property(get = get_x)) unsigned x;
  __declspec(property(get = get_y)) unsigned y;
  __declspec(property(get = get_z)) unsigned z;
  __device__ __attribute__((always_inline, nodebug)) unsigned get_x() const { return Source{}(0); }
  __device__ __attribute__((always_inline, nodebug)) unsigned get_y() const { return Source{}(1); }
  __device__ __attribute__((always_inline, nodebug)) unsigned get_z() const { return Source{}(2); }
  __device__ __attribute__((always_inline, nodebug)) operator dim3() const { return dim3(get_x(), get_y(), get_z()); }
};
}  // namespace hipscope_overlay

static constexpr hipscope_overlay::Coordinates<__HIP_ThreadIdx> threadIdx{};
static constexpr hipscope_overlay::Coordinates<__HIP_BlockIdx> blockIdx{};
static constexpr hipscope_overlay::Coordinates<__HIP_BlockDim> blockDim{};
static constexpr hipscope_overlay::Coordinates<__HIP_GridDim> gridDim{};
#endif
