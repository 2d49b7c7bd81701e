// An error of the runtime as Thrust tells it.
#pragma once

#include <thrust/system/hip/detail/execution_policy.h>
#include <thrust/system_error.h>

THRUST_NAMESPACE_BEGIN
namespace system {
namespace hip {
namespace detail {

inline void check(hipError_t error) {
    if (error != hipSuccess) throw thrust::system_error(int(error), thrust::generic_category(), hipGetErrorString(error));
}

template <class Policy>
void finish(const Policy& policy) {
    check(hipGetLastError());
    check(hipStreamSynchronize(stream_of(policy)));
}

}  // namespace detail
}  // namespace hip
}  // namespace system
THRUST_NAMESPACE_END
