// One element: by a copy where the host asks, in place where the device does.
#pragma once

#include <thrust/detail/raw_pointer_cast.h>
#include <thrust/detail/swap.h>
#include <thrust/iterator/iterator_traits.h>
#include <thrust/system/hip/detail/errors.h>

THRUST_NAMESPACE_BEGIN
namespace system {
namespace hip {
namespace detail {

template <class Pointer1, class Pointer2>
__host__ __device__ void assign(Pointer1 to, Pointer2 from) {
#ifdef __HIP_DEVICE_COMPILE__
    *thrust::raw_pointer_cast(to) = *thrust::raw_pointer_cast(from);
#else
    using To = typename thrust::iterator_value<Pointer1>::type;
    using From = typename thrust::iterator_value<Pointer2>::type;
    From value{};
    check(hipMemcpy(static_cast<void*>(&value), thrust::raw_pointer_cast(from), sizeof value, hipMemcpyDefault));
    const To converted = value;
    check(hipMemcpy(static_cast<void*>(thrust::raw_pointer_cast(to)), &converted, sizeof converted, hipMemcpyDefault));
#endif
}

template <class Derived, class Pointer>
__host__ __device__ typename thrust::iterator_value<Pointer>::type get_value(execution_policy<Derived>&, Pointer pointer) {
#ifdef __HIP_DEVICE_COMPILE__
    return *thrust::raw_pointer_cast(pointer);
#else
    typename thrust::iterator_value<Pointer>::type value{};
    check(hipMemcpy(static_cast<void*>(&value), thrust::raw_pointer_cast(pointer), sizeof value, hipMemcpyDefault));
    return value;
#endif
}

template <class Derived, class Pointer1, class Pointer2>
__host__ __device__ void assign_value(execution_policy<Derived>&, Pointer1 to, Pointer2 from) {
    assign(to, from);
}
template <class From, class To, class Pointer1, class Pointer2>
__host__ __device__ void assign_value(cross_system<From, To>&, Pointer1 to, Pointer2 from) {
    assign(to, from);
}

template <class Derived, class Pointer1, class Pointer2>
__host__ __device__ void iter_swap(execution_policy<Derived>&, Pointer1 a, Pointer2 b) {
#ifdef __HIP_DEVICE_COMPILE__
    thrust::swap(*thrust::raw_pointer_cast(a), *thrust::raw_pointer_cast(b));
#else
    tag system;
    const typename thrust::iterator_value<Pointer1>::type value = get_value(system, a);
    assign(a, b);
    assign(b, &value);
#endif
}

}  // namespace detail
}  // namespace hip
}  // namespace system
THRUST_NAMESPACE_END
