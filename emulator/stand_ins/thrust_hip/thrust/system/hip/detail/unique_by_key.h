#pragma once

#include <thrust/detail/internal_functional.h>
#include <thrust/iterator/zip_iterator.h>
#include <thrust/pair.h>
#include <thrust/system/hip/detail/unique.h>

THRUST_NAMESPACE_BEGIN
namespace system {
namespace hip {
namespace detail {

template <class Derived, class Keys, class Values, class KeysOut, class ValuesOut, class Equal>
__host__ __device__ thrust::pair<KeysOut, ValuesOut> unique_by_key_copy(execution_policy<Derived>& policy, Keys first, Keys last,
                                                                        Values values, KeysOut keys_out, ValuesOut values_out,
                                                                        Equal equal) {
    const auto count = run_unique(policy, thrust::make_zip_iterator(thrust::make_tuple(first, values)),
                                  std::size_t(thrust::distance(first, last)),
                                  thrust::make_zip_iterator(thrust::make_tuple(keys_out, values_out)),
                                  thrust::detail::compare_first<Equal>(equal));
    return thrust::make_pair(keys_out + count, values_out + count);
}

}  // namespace detail
}  // namespace hip
}  // namespace system
THRUST_NAMESPACE_END
