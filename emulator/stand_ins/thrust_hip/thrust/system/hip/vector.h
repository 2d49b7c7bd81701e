#pragma once

#include <thrust/detail/vector_base.h>
#include <thrust/system/hip/memory.h>

THRUST_NAMESPACE_BEGIN
namespace system {
namespace hip {
template <class T, class Allocator = allocator<T>>
using vector = thrust::detail::vector_base<T, Allocator>;
template <class T, class Allocator = universal_allocator<T>>
using universal_vector = thrust::detail::vector_base<T, Allocator>;
}  // namespace hip
}  // namespace system
namespace hip {
using system::hip::universal_vector;
using system::hip::vector;
}  // namespace hip
THRUST_NAMESPACE_END
