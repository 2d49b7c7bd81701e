#pragma once

#include <type_traits>

#include <thrust/detail/pointer.h>
#include <thrust/detail/reference.h>
#include <thrust/system/hip/detail/execution_policy.h>

THRUST_NAMESPACE_BEGIN
namespace system {
namespace hip {
template <class T>
using pointer = thrust::pointer<T, tag, thrust::tagged_reference<T, tag>>;
template <class T>
using universal_pointer = thrust::pointer<T, tag, typename std::add_lvalue_reference<T>::type>;
template <class T>
using reference = thrust::reference<T, pointer<T>>;
}  // namespace hip
}  // namespace system
namespace hip {
using system::hip::pointer;
using system::hip::reference;
using system::hip::universal_pointer;
}  // namespace hip
THRUST_NAMESPACE_END
