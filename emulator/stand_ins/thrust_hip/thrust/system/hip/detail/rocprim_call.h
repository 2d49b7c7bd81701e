// Calls an algorithm of rocPRIM, which says how much memory it needs before it runs.
#pragma once

#include <rocprim/rocprim.hpp>

#include <thrust/detail/temporary_array.h>
#include <thrust/distance.h>
#include <thrust/system/hip/detail/errors.h>
#include <thrust/type_traits/is_contiguous_iterator.h>

THRUST_NAMESPACE_BEGIN
namespace system {
namespace hip {
namespace detail {

/// Bytes behind what an algorithm asks for: rocPRIM 5.3's merge notes a place for each lane of its first workgroup, and
/// asks for as many as it reads. On a GPU memory is given in larger pieces.
constexpr std::size_t room = 1024;

/// `algorithm` takes the memory, its size, and a stream.
template <class Derived, class Algorithm>
void call_rocprim(execution_policy<Derived>& policy, Algorithm algorithm) {
    auto& own = thrust::detail::derived_cast(policy);
    std::size_t bytes = 0;
    check(algorithm(nullptr, bytes, stream_of(own)));
    thrust::detail::temporary_array<unsigned char, Derived> memory(own, std::ptrdiff_t(bytes + room));
    check(algorithm(thrust::raw_pointer_cast(memory.data()), bytes, stream_of(own)));
    finish(own);
}

/// The same for algorithms that count what they keep: they take the place of the count, too. The count.
template <class Derived, class Algorithm>
std::ptrdiff_t count_of_rocprim(execution_policy<Derived>& policy, Algorithm algorithm) {
    thrust::detail::temporary_array<unsigned, Derived> count(policy, 1);
    unsigned* there = thrust::raw_pointer_cast(count.data());
    call_rocprim(policy, [&](void* memory, std::size_t& bytes, hipStream_t stream) {
        return algorithm(memory, bytes, there, stream);
    });
    unsigned here = 0;
    check(hipMemcpy(&here, there, sizeof here, hipMemcpyDeviceToHost));
    return here;
}

}  // namespace detail
}  // namespace hip
}  // namespace system
THRUST_NAMESPACE_END
