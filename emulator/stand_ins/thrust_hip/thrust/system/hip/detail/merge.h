#pragma once

#include <thrust/system/hip/detail/rocprim_call.h>

THRUST_NAMESPACE_BEGIN
namespace system {
namespace hip {
namespace detail {

template <class Derived, class Input1, class Input2, class Output, class Compare>
void run_merge(execution_policy<Derived>& policy, Input1 first1, std::size_t size1, Input2 first2, std::size_t size2,
               Output result, Compare compare) {
    if (size1 + size2 == 0) return;
    auto input1 = thrust::detail::try_unwrap_contiguous_iterator(first1);
    auto input2 = thrust::detail::try_unwrap_contiguous_iterator(first2);
    auto output = thrust::detail::try_unwrap_contiguous_iterator(result);
    call_rocprim(policy, [&](void* memory, std::size_t& bytes, hipStream_t stream) {
        return rocprim::merge(memory, bytes, input1, input2, output, size1, size2, compare, stream);
    });
}
template <class Derived, class Input1, class Input2, class Output, class Compare>
__host__ __device__ Output merge(execution_policy<Derived>& policy, Input1 first1, Input1 last1, Input2 first2, Input2 last2,
                                 Output result, Compare compare) {
    const auto size1 = thrust::distance(first1, last1);
    const auto size2 = thrust::distance(first2, last2);
    run_merge(policy, first1, std::size_t(size1), first2, std::size_t(size2), result, compare);
    return result + size1 + size2;
}

}  // namespace detail
}  // namespace hip
}  // namespace system
THRUST_NAMESPACE_END
