// Copies between the host and the device. Those within the device are the generic ones, a kernel.
#pragma once

#include <memory>
#include <type_traits>

#include <thrust/detail/temporary_array.h>
#include <thrust/distance.h>
#include <thrust/system/hip/detail/errors.h>
#include <thrust/system/hip/detail/for_each.h>
#include <thrust/type_traits/is_contiguous_iterator.h>

THRUST_NAMESPACE_BEGIN
namespace system {
namespace hip {
namespace detail {

template <class Input, class Output>
inline constexpr bool is_one_block =
    thrust::is_contiguous_iterator<Input>::value && thrust::is_contiguous_iterator<Output>::value &&
    std::is_same_v<typename thrust::iterator_value<Input>::type, typename thrust::iterator_value<Output>::type>;

template <class Host, class Device, class Input, class Output>
void run_copy(const thrust::cpp::execution_policy<Host>&, execution_policy<Device>& device, Input first, std::size_t size,
              Output result) {
    using T = typename thrust::iterator_value<Input>::type;
    if constexpr (is_one_block<Input, Output>) {
        auto from = thrust::detail::try_unwrap_contiguous_iterator(first);
        auto to = thrust::detail::try_unwrap_contiguous_iterator(result);
        check(hipMemcpy(static_cast<void*>(to), static_cast<const void*>(from), size * sizeof(T), hipMemcpyHostToDevice));
    } else {
        const std::unique_ptr<T[]> here(new T[size]);
        for (std::size_t i = 0; i < size; ++i, ++first) here[i] = *first;
        thrust::detail::temporary_array<T, Device> there(device, std::ptrdiff_t(size));
        check(hipMemcpy(static_cast<void*>(thrust::raw_pointer_cast(there.data())), here.get(), size * sizeof(T),
                        hipMemcpyHostToDevice));
        thrust::copy(device, there.begin(), there.end(), result);
    }
}
template <class Device, class Host, class Input, class Output>
void run_copy(execution_policy<Device>& device, const thrust::cpp::execution_policy<Host>&, Input first, std::size_t size,
              Output result) {
    using T = typename thrust::iterator_value<Input>::type;
    if constexpr (is_one_block<Input, Output>) {
        auto from = thrust::detail::try_unwrap_contiguous_iterator(first);
        auto to = thrust::detail::try_unwrap_contiguous_iterator(result);
        check(hipMemcpy(static_cast<void*>(to), static_cast<const void*>(from), size * sizeof(T), hipMemcpyDeviceToHost));
    } else {
        thrust::detail::temporary_array<T, Device> there(device, first, first + std::ptrdiff_t(size));
        const std::unique_ptr<T[]> here(new T[size]);
        check(hipMemcpy(static_cast<void*>(here.get()), thrust::raw_pointer_cast(there.data()), size * sizeof(T),
                        hipMemcpyDeviceToHost));
        for (std::size_t i = 0; i < size; ++i, ++result) *result = here[i];
    }
}

template <class From, class To, class Input, class Size, class Output>
__host__ __device__ Output copy_n(cross_system<From, To>& systems, Input first, Size size, Output result) {
    if (size > 0) run_copy(systems.from, systems.to, first, std::size_t(size), result);
    thrust::advance(result, size);
    return result;
}
template <class From, class To, class Input, class Output>
__host__ __device__ Output copy(cross_system<From, To>& systems, Input first, Input last, Output result) {
    return hip::detail::copy_n(systems, first, thrust::distance(first, last), result);
}

}  // namespace detail
}  // namespace hip
}  // namespace system
THRUST_NAMESPACE_END

#include <thrust/copy.h>
