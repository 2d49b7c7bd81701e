#pragma once

#include <thrust/pair.h>
#include <thrust/system/hip/detail/rocprim_call.h>

THRUST_NAMESPACE_BEGIN
namespace system {
namespace hip {
namespace detail {

template <class Derived, class Keys, class Values, class KeysOut, class ValuesOut, class Equal, class Operation>
std::ptrdiff_t run_reduce_by_key(execution_policy<Derived>& policy, Keys first, std::size_t size, Values values_first,
                                 KeysOut keys_result, ValuesOut values_result, Equal equal, Operation operation) {
    if (size == 0) return 0;
    auto keys = thrust::detail::try_unwrap_contiguous_iterator(first);
    auto values = thrust::detail::try_unwrap_contiguous_iterator(values_first);
    auto keys_out = thrust::detail::try_unwrap_contiguous_iterator(keys_result);
    auto values_out = thrust::detail::try_unwrap_contiguous_iterator(values_result);
    return count_of_rocprim(policy, [&](void* memory, std::size_t& bytes, unsigned* count, hipStream_t stream) {
        return rocprim::reduce_by_key(memory, bytes, keys, values, unsigned(size), keys_out, values_out, count, operation, equal,
                                      stream);
    });
}
template <class Derived, class Keys, class Values, class KeysOut, class ValuesOut, class Equal, class Operation>
__host__ __device__ thrust::pair<KeysOut, ValuesOut> reduce_by_key(execution_policy<Derived>& policy, Keys first, Keys last,
                                                                   Values values, KeysOut keys_out, ValuesOut values_out,
                                                                   Equal equal, Operation operation) {
    const auto size = std::size_t(thrust::distance(first, last));
    const auto count = run_reduce_by_key(policy, first, size, values, keys_out, values_out, equal, operation);
    return thrust::make_pair(keys_out + count, values_out + count);
}

}  // namespace detail
}  // namespace hip
}  // namespace system
THRUST_NAMESPACE_END
