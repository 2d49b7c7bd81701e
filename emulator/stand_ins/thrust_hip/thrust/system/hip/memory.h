#pragma once

#include <thrust/detail/type_traits.h>
#include <thrust/mr/allocator.h>
#include <thrust/system/hip/detail/malloc_and_free.h>
#include <thrust/system/hip/memory_resource.h>

THRUST_NAMESPACE_BEGIN
namespace system {
namespace hip {

inline pointer<void> malloc(std::size_t bytes) { return pointer<void>(detail::allocated(bytes)); }
template <class T>
pointer<T> malloc(std::size_t count) {
    return pointer<T>(static_cast<T*>(detail::allocated(count * sizeof(T))));
}
inline void free(pointer<void> memory) { (void)hipFree(memory.get()); }

template <class T>
using allocator = thrust::mr::stateless_resource_allocator<T, memory_resource>;
template <class T>
using universal_allocator = thrust::mr::stateless_resource_allocator<T, universal_memory_resource>;
template <class T>
using universal_host_pinned_allocator = thrust::mr::stateless_resource_allocator<T, universal_host_pinned_memory_resource>;

}  // namespace hip
}  // namespace system
namespace hip {
using system::hip::allocator;
using system::hip::free;
using system::hip::malloc;
using system::hip::universal_allocator;
using system::hip::universal_host_pinned_allocator;
}  // namespace hip
THRUST_NAMESPACE_END
