#pragma once

#include <thrust/detail/raw_pointer_cast.h>
#include <thrust/system/hip/detail/execution_policy.h>

THRUST_NAMESPACE_BEGIN
namespace system {
namespace hip {
namespace detail {

inline void* allocated(std::size_t bytes) {
    void* pointer = nullptr;
    return hipMalloc(&pointer, bytes) == hipSuccess ? pointer : nullptr;
}
template <class Derived>
__host__ __device__ void* malloc(execution_policy<Derived>&, std::size_t bytes) {
    return allocated(bytes);
}
template <class Derived, class Pointer>
__host__ __device__ void free(execution_policy<Derived>&, Pointer pointer) {
    (void)hipFree(thrust::raw_pointer_cast(pointer));
}

}  // namespace detail
}  // namespace hip
}  // namespace system
THRUST_NAMESPACE_END
