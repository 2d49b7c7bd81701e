#pragma once

#include <thrust/system/hip/detail/rocprim_call.h>

THRUST_NAMESPACE_BEGIN
namespace system {
namespace hip {
namespace detail {

template <class Derived, class Iterator, class T, class Operation>
T run_reduce(execution_policy<Derived>& policy, Iterator first, Iterator last, T init, Operation operation) {
    const auto size = std::size_t(thrust::distance(first, last));
    if (size == 0) return init;
    auto input = thrust::detail::try_unwrap_contiguous_iterator(first);
    thrust::detail::temporary_array<T, Derived> result(policy, 1);
    T* output = thrust::raw_pointer_cast(result.data());
    call_rocprim(policy, [&](void* memory, std::size_t& bytes, hipStream_t stream) {
        return rocprim::reduce(memory, bytes, input, output, init, size, operation, stream);
    });
    check(hipMemcpy(static_cast<void*>(&init), output, sizeof init, hipMemcpyDeviceToHost));
    return init;
}
template <class Derived, class Iterator, class T, class Operation>
__host__ __device__ T reduce(execution_policy<Derived>& policy, Iterator first, Iterator last, T init, Operation operation) {
    return run_reduce(policy, first, last, init, operation);
}

}  // namespace detail
}  // namespace hip
}  // namespace system
THRUST_NAMESPACE_END
