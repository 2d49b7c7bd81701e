// Radix sorts where the keys are numbers in their own order, merge sorts elsewhere.
#pragma once

#include <type_traits>

#include <thrust/copy.h>
#include <thrust/functional.h>
#include <thrust/system/hip/detail/rocprim_call.h>

THRUST_NAMESPACE_BEGIN
namespace system {
namespace hip {
namespace detail {

template <class Compare, template <class> class Order, class Key>
inline constexpr bool is_order = std::is_same_v<Compare, Order<Key>> || std::is_same_v<Compare, Order<void>>;

template <class Key, class Compare>
inline constexpr bool is_numbers =
    std::is_arithmetic_v<Key> && (is_order<Compare, thrust::less, Key> || is_order<Compare, thrust::greater, Key>);

template <class Derived, class Iterator, class Compare>
void run_sort(execution_policy<Derived>& policy, Iterator first, Iterator last, Compare compare) {
    using Key = typename thrust::iterator_value<Iterator>::type;
    const auto size = std::size_t(thrust::distance(first, last));
    if (size < 2) return;
    auto keys = thrust::detail::try_unwrap_contiguous_iterator(first);
    thrust::detail::temporary_array<Key, Derived> sorted(policy, std::ptrdiff_t(size));
    Key* output = thrust::raw_pointer_cast(sorted.data());
    call_rocprim(policy, [&](void* memory, std::size_t& bytes, hipStream_t stream) {
        if constexpr (!is_numbers<Key, Compare>)
            return rocprim::merge_sort(memory, bytes, keys, output, size, compare, stream);
        else if constexpr (is_order<Compare, thrust::less, Key>)
            return rocprim::radix_sort_keys(memory, bytes, keys, output, size, 0, 8 * sizeof(Key), stream);
        else
            return rocprim::radix_sort_keys_desc(memory, bytes, keys, output, size, 0, 8 * sizeof(Key), stream);
    });
    thrust::copy(policy, sorted.begin(), sorted.end(), first);
}
template <class Derived, class Iterator, class Values, class Compare>
void run_sort_by_key(execution_policy<Derived>& policy, Iterator first, Iterator last, Values values_first, Compare compare) {
    using Key = typename thrust::iterator_value<Iterator>::type;
    using Value = typename thrust::iterator_value<Values>::type;
    const auto size = std::size_t(thrust::distance(first, last));
    if (size < 2) return;
    auto keys = thrust::detail::try_unwrap_contiguous_iterator(first);
    auto values = thrust::detail::try_unwrap_contiguous_iterator(values_first);
    thrust::detail::temporary_array<Key, Derived> sorted(policy, std::ptrdiff_t(size));
    thrust::detail::temporary_array<Value, Derived> moved(policy, std::ptrdiff_t(size));
    Key* output = thrust::raw_pointer_cast(sorted.data());
    Value* carried = thrust::raw_pointer_cast(moved.data());
    call_rocprim(policy, [&](void* memory, std::size_t& bytes, hipStream_t stream) {
        if constexpr (!is_numbers<Key, Compare>)
            return rocprim::merge_sort(memory, bytes, keys, output, values, carried, size, compare, stream);
        else if constexpr (is_order<Compare, thrust::less, Key>)
            return rocprim::radix_sort_pairs(memory, bytes, keys, output, values, carried, size, 0, 8 * sizeof(Key), stream);
        else
            return rocprim::radix_sort_pairs_desc(memory, bytes, keys, output, values, carried, size, 0, 8 * sizeof(Key),
                                                  stream);
    });
    thrust::copy(policy, sorted.begin(), sorted.end(), first);
    thrust::copy(policy, moved.begin(), moved.end(), values_first);
}

template <class Derived, class Iterator, class Compare>
__host__ __device__ void stable_sort(execution_policy<Derived>& policy, Iterator first, Iterator last, Compare compare) {
    run_sort(policy, first, last, compare);
}
template <class Derived, class Iterator, class Values, class Compare>
__host__ __device__ void stable_sort_by_key(execution_policy<Derived>& policy, Iterator first, Iterator last, Values values,
                                            Compare compare) {
    run_sort_by_key(policy, first, last, values, compare);
}

}  // namespace detail
}  // namespace hip
}  // namespace system
THRUST_NAMESPACE_END
