#pragma once

#include <thrust/system/hip/detail/rocprim_call.h>

THRUST_NAMESPACE_BEGIN
namespace system {
namespace hip {
namespace detail {

template <class Derived, class Keys, class Values, class Output, class Equal, class Operation>
void run_inclusive_scan_by_key(execution_policy<Derived>& policy, Keys first, std::size_t size, Values values_first,
                               Output result, Equal equal, Operation operation) {
    if (size == 0) return;
    auto keys = thrust::detail::try_unwrap_contiguous_iterator(first);
    auto values = thrust::detail::try_unwrap_contiguous_iterator(values_first);
    auto output = thrust::detail::try_unwrap_contiguous_iterator(result);
    call_rocprim(policy, [&](void* memory, std::size_t& bytes, hipStream_t stream) {
        return rocprim::inclusive_scan_by_key(memory, bytes, keys, values, output, size, operation, equal, stream);
    });
}
template <class Derived, class Keys, class Values, class Output, class T, class Equal, class Operation>
void run_exclusive_scan_by_key(execution_policy<Derived>& policy, Keys first, std::size_t size, Values values_first,
                               Output result, T init, Equal equal, Operation operation) {
    if (size == 0) return;
    auto keys = thrust::detail::try_unwrap_contiguous_iterator(first);
    auto values = thrust::detail::try_unwrap_contiguous_iterator(values_first);
    auto output = thrust::detail::try_unwrap_contiguous_iterator(result);
    call_rocprim(policy, [&](void* memory, std::size_t& bytes, hipStream_t stream) {
        return rocprim::exclusive_scan_by_key(memory, bytes, keys, values, output, init, size, operation, equal, stream);
    });
}

template <class Derived, class Keys, class Values, class Output, class Equal, class Operation>
__host__ __device__ Output inclusive_scan_by_key(execution_policy<Derived>& policy, Keys first, Keys last, Values values,
                                                 Output result, Equal equal, Operation operation) {
    const auto size = thrust::distance(first, last);
    run_inclusive_scan_by_key(policy, first, std::size_t(size), values, result, equal, operation);
    return result + size;
}
template <class Derived, class Keys, class Values, class Output, class T, class Equal, class Operation>
__host__ __device__ Output exclusive_scan_by_key(execution_policy<Derived>& policy, Keys first, Keys last, Values values,
                                                 Output result, T init, Equal equal, Operation operation) {
    const auto size = thrust::distance(first, last);
    run_exclusive_scan_by_key(policy, first, std::size_t(size), values, result, init, equal, operation);
    return result + size;
}

}  // namespace detail
}  // namespace hip
}  // namespace system
THRUST_NAMESPACE_END
