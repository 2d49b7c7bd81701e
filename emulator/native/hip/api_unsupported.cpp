// Functions that exist so that programs link and start; calling one says its name once and returns an error.
#include "hip/api.hpp"

namespace {

hipscope::abi::Error unsupported(const char* name) {
    hipscope::Call()->say_unsupported(name);
    return hipscope::fail(hipscope::abi::error::not_supported);
}

}  // namespace

// The C ABI lets a caller pass arguments that the callee does not look at.
#define HIPSCOPE_UNSUPPORTED(name) \
    HIPSCOPE_API int name() { return unsupported(#name); }
#include "hip/unsupported.inc"
#undef HIPSCOPE_UNSUPPORTED

// Their names in HIP 5's library, whose headers declare them without extern "C".
HIPSCOPE_API decltype(hipCreateSurfaceObject) _Z22hipCreateSurfaceObjectPP13__hip_surfacePK15hipResourceDesc
    __attribute__((alias("hipCreateSurfaceObject")));
HIPSCOPE_API decltype(hipDestroySurfaceObject) _Z23hipDestroySurfaceObjectP13__hip_surface
    __attribute__((alias("hipDestroySurfaceObject")));
