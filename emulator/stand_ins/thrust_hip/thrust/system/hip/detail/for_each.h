#pragma once

#include <thrust/detail/function.h>
#include <thrust/distance.h>
#include <thrust/system/hip/detail/errors.h>
#include <thrust/type_traits/is_contiguous_iterator.h>

THRUST_NAMESPACE_BEGIN
namespace system {
namespace hip {
namespace detail {

constexpr unsigned group_size = 256;

template <class Iterator, class Size, class Function>
__global__ void __launch_bounds__(group_size) for_each_kernel(Iterator first, Size size, Function function) {
    const Size index = Size(blockIdx.x) * group_size + threadIdx.x;
    if (index < size) function(first[index]);
}

template <class Policy, class Iterator, class Size, class Function>
void launch_for_each(const Policy& policy, Iterator first, Size size, Function function) {
    if (size <= 0) return;
    using Wrapped = thrust::detail::wrapped_function<Function, void>;
    auto plain = thrust::detail::try_unwrap_contiguous_iterator(first);
    const auto groups = unsigned((std::size_t(size) + group_size - 1) / group_size);
    for_each_kernel<<<groups, group_size, 0, stream_of(policy)>>>(plain, std::size_t(size), Wrapped(function));
    finish(policy);
}

template <class Derived, class Iterator, class Size, class Function>
__host__ __device__ Iterator for_each_n(execution_policy<Derived>& policy, Iterator first, Size size, Function function) {
    launch_for_each(thrust::detail::derived_cast(policy), first, size, function);
    return first + size;
}
template <class Derived, class Iterator, class Function>
__host__ __device__ Iterator for_each(execution_policy<Derived>& policy, Iterator first, Iterator last, Function function) {
    return hip::detail::for_each_n(policy, first, thrust::distance(first, last), function);
}

}  // namespace detail
}  // namespace hip
}  // namespace system
THRUST_NAMESPACE_END
