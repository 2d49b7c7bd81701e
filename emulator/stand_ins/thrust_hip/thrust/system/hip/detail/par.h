#pragma once

#include <thrust/system/hip/detail/execution_policy.h>

THRUST_NAMESPACE_BEGIN
namespace system {
namespace hip {
static const detail::par_t par;
static const detail::par_t par_nosync;
}  // namespace hip
}  // namespace system
namespace hip {
using system::hip::par;
using system::hip::par_nosync;
}  // namespace hip
namespace hip_rocprim = hip;
THRUST_NAMESPACE_END
