#pragma once

#include <thrust/iterator/discard_iterator.h>
#include <thrust/system/hip/detail/rocprim_call.h>

THRUST_NAMESPACE_BEGIN
namespace system {
namespace hip {
namespace detail {

template <class Derived, class Input, class Output, class Equal>
std::ptrdiff_t run_unique(execution_policy<Derived>& policy, Input first, std::size_t size, Output result, Equal equal) {
    if (size == 0) return 0;
    auto input = thrust::detail::try_unwrap_contiguous_iterator(first);
    auto output = thrust::detail::try_unwrap_contiguous_iterator(result);
    return count_of_rocprim(policy, [&](void* memory, std::size_t& bytes, unsigned* count, hipStream_t stream) {
        return rocprim::unique(memory, bytes, input, output, count, size, equal, stream);
    });
}
template <class Derived, class Input, class Output, class Equal>
__host__ __device__ Output unique_copy(execution_policy<Derived>& policy, Input first, Input last, Output result, Equal equal) {
    return result + run_unique(policy, first, std::size_t(thrust::distance(first, last)), result, equal);
}
template <class Derived, class Input, class Equal>
__host__ __device__ std::ptrdiff_t unique_count(execution_policy<Derived>& policy, Input first, Input last, Equal equal) {
    return run_unique(policy, first, std::size_t(thrust::distance(first, last)), thrust::make_discard_iterator(), equal);
}

}  // namespace detail
}  // namespace hip
}  // namespace system
THRUST_NAMESPACE_END
