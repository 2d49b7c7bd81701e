// The linker of HIP's own interface (6.4 and newer): that of hipRTC, with HIP's error codes.
#include "hip/api.hpp"

namespace hipscope {
struct RtcLink;
}

using namespace hipscope;
using abi::Error;

HIPSCOPE_API int hiprtcLinkCreate(unsigned, void*, void**, RtcLink** link);
HIPSCOPE_API int hiprtcLinkAddData(RtcLink* link, int type, void* data, std::size_t bytes, const char*, unsigned, void*, void**);
HIPSCOPE_API int hiprtcLinkAddFile(RtcLink* link, int type, const char* path, unsigned, void*, void**);
HIPSCOPE_API int hiprtcLinkComplete(RtcLink* link, void** code, std::size_t* bytes);
HIPSCOPE_API int hiprtcLinkDestroy(RtcLink* link);

namespace {
Error as_hip(int result) { return result == 0 ? abi::error::success : fail(abi::error::invalid_value); }
}  // namespace

HIPSCOPE_API Error hipLinkCreate(unsigned count, void* options, void** values, RtcLink** link) {
    return as_hip(hiprtcLinkCreate(count, options, values, link));
}
HIPSCOPE_API Error hipLinkAddData(RtcLink* link, int type, void* data, std::size_t bytes, const char* name, unsigned count, void* options, void** values) {
    return as_hip(hiprtcLinkAddData(link, type, data, bytes, name, count, options, values));
}
HIPSCOPE_API Error hipLinkAddFile(RtcLink* link, int type, const char* path, unsigned count, void* options, void** values) {
    return as_hip(hiprtcLinkAddFile(link, type, path, count, options, values));
}
HIPSCOPE_API Error hipLinkComplete(RtcLink* link, void** code, std::size_t* bytes) { return as_hip(hiprtcLinkComplete(link, code, bytes)); }
HIPSCOPE_API Error hipLinkDestroy(RtcLink* link) { return as_hip(hiprtcLinkDestroy(link)); }
