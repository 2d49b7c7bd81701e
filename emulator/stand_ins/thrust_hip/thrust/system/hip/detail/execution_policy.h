// The execution policies of Thrust's HIP system, and what stands for a copy between the host and the device.
#pragma once

#include <hip/hip_runtime.h>

#include <thrust/detail/config.h>
#include <thrust/detail/allocator_aware_execution_policy.h>
#include <thrust/detail/execution_policy.h>
#include <thrust/iterator/detail/any_system_tag.h>
#include <thrust/system/cpp/detail/execution_policy.h>

THRUST_NAMESPACE_BEGIN
namespace system {
namespace hip {
namespace detail {

struct tag;
template <class Derived>
struct execution_policy;
template <>
struct execution_policy<tag> : thrust::execution_policy<tag> {};
struct tag : execution_policy<tag> {};
template <class Derived>
struct execution_policy : thrust::execution_policy<Derived> {
    using tag_type = tag;
    __host__ __device__ operator tag() const { return tag(); }
};

/// A policy that has a stream.
template <class Derived>
struct stream_policy : execution_policy<Derived> {
    hipStream_t stream = nullptr;
    Derived on(hipStream_t other) const {
        Derived changed = thrust::detail::derived_cast(*this);
        changed.stream = other;
        return changed;
    }
};
struct par_t : stream_policy<par_t>, thrust::detail::allocator_aware_execution_policy<stream_policy> {
    constexpr par_t() {}
};

template <class Derived>
hipStream_t stream_of(const execution_policy<Derived>&) {
    return nullptr;
}
template <class Derived>
hipStream_t stream_of(const stream_policy<Derived>& policy) {
    return policy.stream;
}

/// What a copy between the host and the device is done with: where it comes from, and where it goes.
template <class From, class To>
struct cross_system : thrust::execution_policy<cross_system<From, To>> {
    From& from;
    To& to;
    __host__ __device__ cross_system(From& from, To& to) : from(from), to(to) {}
};

template <class Host, class Device>
__host__ __device__ cross_system<Host, Device> select_system(const thrust::cpp::execution_policy<Host>& host,
                                                             const execution_policy<Device>& device) {
    return {const_cast<Host&>(thrust::detail::derived_cast(host)), const_cast<Device&>(thrust::detail::derived_cast(device))};
}
template <class Device, class Host>
__host__ __device__ cross_system<Device, Host> select_system(const execution_policy<Device>& device,
                                                             const thrust::cpp::execution_policy<Host>& host) {
    return {const_cast<Device&>(thrust::detail::derived_cast(device)), const_cast<Host&>(thrust::detail::derived_cast(host))};
}

}  // namespace detail

using detail::execution_policy;
using detail::tag;

}  // namespace hip
}  // namespace system

namespace hip {
using system::hip::execution_policy;
using system::hip::tag;
}  // namespace hip
THRUST_NAMESPACE_END
