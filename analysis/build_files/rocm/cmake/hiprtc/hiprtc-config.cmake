# `find_package(hiprtc)` where there is no ROCm.
set(_hiprtc_root "@ROOT@")
if(NOT TARGET hiprtc::hiprtc)
  add_library(hiprtc::hiprtc SHARED IMPORTED)
  set_target_properties(hiprtc::hiprtc PROPERTIES
    IMPORTED_LOCATION "${_hiprtc_root}/lib/libhiprtc.so"
    INTERFACE_INCLUDE_DIRECTORIES "${_hiprtc_root}/include")
endif()
set(hiprtc_LIBRARIES hiprtc::hiprtc)
