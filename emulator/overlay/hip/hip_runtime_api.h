// Put before the HIP headers of a distribution that are older than HIP 6.2: the installed header, then what newer ones
// declare beyond it: the device properties of HIP 6, and functions and types that HIP has since 5.3.
#pragma once

#include <hip/hip_version.h>

#if HIP_VERSION_MAJOR >= 6
#include_next <hip/hip_runtime_api.h>
#else

// As in HIP 6, the plain names mean the newer layout; the library has both.
#define hipDeviceProp_t hipDeviceProp_tR0000
#define hipGetDeviceProperties hipGetDevicePropertiesR0000
#define hipChooseDevice hipChooseDeviceR0000
#define hipPointerAttribute_t hipPointerAttribute_tR0000
#define hipPointerGetAttributes hipPointerGetAttributesR0000
#include_next <hip/hip_runtime_api.h>
#undef hipDeviceProp_t
#undef hipGetDeviceProperties
#undef hipChooseDevice
#undef hipPointerAttribute_t
#undef hipPointerGetAttributes
#include <hip/hipscope_device_properties.h>
#include <hip/hipscope_pointer_attributes.h>

#if HIP_VERSION_MINOR <= 2
#include <hip/hipscope_newer_constants.h>
#include <hip/hipscope_newer_functions.h>
#endif

#endif
