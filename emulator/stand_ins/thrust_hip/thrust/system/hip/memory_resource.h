#pragma once

#include <thrust/mr/memory_resource.h>
#include <thrust/system/detail/bad_alloc.h>
#include <thrust/system/hip/pointer.h>

THRUST_NAMESPACE_BEGIN
namespace system {
namespace hip {
namespace detail {

/// The functions that allocate and free one kind of memory.
struct device_memory {
    static hipError_t allocate(void** pointer, std::size_t bytes) { return hipMalloc(pointer, bytes); }
    static hipError_t release(void* pointer) { return hipFree(pointer); }
};
struct managed_memory {
    static hipError_t allocate(void** pointer, std::size_t bytes) { return hipMallocManaged(pointer, bytes); }
    static hipError_t release(void* pointer) { return hipFree(pointer); }
};
struct pinned_memory {
    static hipError_t allocate(void** pointer, std::size_t bytes) { return hipHostMalloc(pointer, bytes, 0); }
    static hipError_t release(void* pointer) { return hipHostFree(pointer); }
};

template <class Kind, class Pointer>
class resource final : public thrust::mr::memory_resource<Pointer> {
public:
    Pointer do_allocate(std::size_t bytes, std::size_t) override {
        void* pointer = nullptr;
        const hipError_t error = Kind::allocate(&pointer, bytes);
        if (error != hipSuccess) throw thrust::system::detail::bad_alloc(hipGetErrorString(error));
        return Pointer(pointer);
    }
    void do_deallocate(Pointer pointer, std::size_t, std::size_t) override {
        (void)Kind::release(thrust::detail::pointer_traits<Pointer>::get(pointer));
    }
};

}  // namespace detail

using memory_resource = detail::resource<detail::device_memory, pointer<void>>;
using universal_memory_resource = detail::resource<detail::managed_memory, universal_pointer<void>>;
using universal_host_pinned_memory_resource = detail::resource<detail::pinned_memory, universal_pointer<void>>;

}  // namespace hip
}  // namespace system
namespace hip {
using system::hip::memory_resource;
using system::hip::universal_host_pinned_memory_resource;
using system::hip::universal_memory_resource;
}  // namespace hip
THRUST_NAMESPACE_END
