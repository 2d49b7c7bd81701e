#pragma once

#include <thrust/iterator/transform_iterator.h>
#include <thrust/system/hip/detail/rocprim_call.h>

THRUST_NAMESPACE_BEGIN
namespace system {
namespace hip {
namespace detail {

template <class Derived, class Input, class Stencil, class Output, class Predicate>
std::ptrdiff_t run_copy_if(execution_policy<Derived>& policy, Input first, std::size_t size, Stencil stencil, Output result,
                           Predicate predicate) {
    if (size == 0) return 0;
    auto input = thrust::detail::try_unwrap_contiguous_iterator(first);
    auto output = thrust::detail::try_unwrap_contiguous_iterator(result);
    const thrust::transform_iterator<Predicate, Stencil, bool> flags(stencil, predicate);
    return count_of_rocprim(policy, [&](void* memory, std::size_t& bytes, unsigned* count, hipStream_t stream) {
        return rocprim::select(memory, bytes, input, flags, output, count, size, stream);
    });
}
template <class Derived, class Input, class Stencil, class Output, class Predicate>
__host__ __device__ Output copy_if(execution_policy<Derived>& policy, Input first, Input last, Stencil stencil, Output result,
                                   Predicate predicate) {
    return result + run_copy_if(policy, first, std::size_t(thrust::distance(first, last)), stencil, result, predicate);
}

}  // namespace detail
}  // namespace hip
}  // namespace system
THRUST_NAMESPACE_END
