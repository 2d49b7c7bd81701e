#pragma once

#include <thrust/system/hip/detail/rocprim_call.h>

THRUST_NAMESPACE_BEGIN
namespace system {
namespace hip {
namespace detail {

template <class Derived, class Input, class Output, class Operation>
void run_inclusive_scan(execution_policy<Derived>& policy, Input first, std::size_t size, Output result, Operation operation) {
    if (size == 0) return;
    auto input = thrust::detail::try_unwrap_contiguous_iterator(first);
    auto output = thrust::detail::try_unwrap_contiguous_iterator(result);
    call_rocprim(policy, [&](void* memory, std::size_t& bytes, hipStream_t stream) {
        return rocprim::inclusive_scan(memory, bytes, input, output, size, operation, stream);
    });
}
template <class Derived, class Input, class Output, class T, class Operation>
void run_exclusive_scan(execution_policy<Derived>& policy, Input first, std::size_t size, Output result, T init,
                        Operation operation) {
    if (size == 0) return;
    auto input = thrust::detail::try_unwrap_contiguous_iterator(first);
    auto output = thrust::detail::try_unwrap_contiguous_iterator(result);
    call_rocprim(policy, [&](void* memory, std::size_t& bytes, hipStream_t stream) {
        return rocprim::exclusive_scan(memory, bytes, input, output, init, size, operation, stream);
    });
}

template <class Derived, class Input, class Output, class Operation>
__host__ __device__ Output inclusive_scan(execution_policy<Derived>& policy, Input first, Input last, Output result,
                                          Operation operation) {
    const auto size = thrust::distance(first, last);
    run_inclusive_scan(policy, first, std::size_t(size), result, operation);
    return result + size;
}
template <class Derived, class Input, class Output, class T, class Operation>
__host__ __device__ Output exclusive_scan(execution_policy<Derived>& policy, Input first, Input last, Output result, T init,
                                          Operation operation) {
    const auto size = thrust::distance(first, last);
    run_exclusive_scan(policy, first, std::size_t(size), result, init, operation);
    return result + size;
}

}  // namespace detail
}  // namespace hip
}  // namespace system
THRUST_NAMESPACE_END
