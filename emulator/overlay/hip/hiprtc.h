// The installed header of hipRTC, then the bitcode that newer versions give.
#pragma once

#include_next <hip/hiprtc.h>
#include <hip/hip_version.h>

#if HIP_VERSION_MAJOR == 5 && HIP_VERSION_MINOR <= 2
#ifdef __cplusplus
extern "C" {
#endif
hiprtcResult hiprtcGetBitcode(hiprtcProgram prog, char* bitcode);
hiprtcResult hiprtcGetBitcodeSize(hiprtcProgram prog, size_t* bitcode_size);
#ifdef __cplusplus
}
#endif
#endif
