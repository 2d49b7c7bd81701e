# `find_package(hip)` where there is no ROCm: hip::host, hip::device and hip::amdhip64 on the emulator's runtime, and
# the functions of the older FindHIP module.
set(hip_ROOT_FOLDER "@ROOT@")
set(hip_INCLUDE_DIR "${hip_ROOT_FOLDER}/include")
set(hip_LIB_INSTALL_DIR "${hip_ROOT_FOLDER}/lib")
set(hip_BIN_INSTALL_DIR "${hip_ROOT_FOLDER}/bin")
set(hip_HIPCC_EXECUTABLE "${hip_BIN_INSTALL_DIR}/hipcc")
set(hip_HIPCONFIG_EXECUTABLE "${hip_BIN_INSTALL_DIR}/hipconfig")
set(hip_INCLUDE_DIRS "${hip_INCLUDE_DIR}")
set(hip_LIBRARIES hip::host hip::device)
set(hip_LIBRARY ${hip_LIBRARIES})
foreach(_hip_name INCLUDE_DIR INCLUDE_DIRS LIBRARIES LIBRARY LIB_INSTALL_DIR BIN_INSTALL_DIR HIPCC_EXECUTABLE
        HIPCONFIG_EXECUTABLE)
  set(HIP_${_hip_name} ${hip_${_hip_name}})
endforeach()
set(HIP_ROOT_DIR "${hip_ROOT_FOLDER}")
set(HIP_PLATFORM "amd")
set(HIP_COMPILER "clang")
set(HIP_RUNTIME "rocclr")
set(AMDGPU_TARGETS "@ARCH@" CACHE STRING "AMD GPU targets to compile for")
set(GPU_TARGETS "${AMDGPU_TARGETS}" CACHE STRING "GPU targets to compile for")

if(NOT TARGET hip::device)
  add_library(hip::amdhip64 SHARED IMPORTED)
  set_target_properties(hip::amdhip64 PROPERTIES
    IMPORTED_LOCATION "${hip_LIB_INSTALL_DIR}/libamdhip64.so"
    INTERFACE_INCLUDE_DIRECTORIES "${hip_INCLUDE_DIR}")
  add_library(hip::host INTERFACE IMPORTED)
  set_target_properties(hip::host PROPERTIES
    INTERFACE_COMPILE_DEFINITIONS "__HIP_PLATFORM_HCC__=1;__HIP_PLATFORM_AMD__=1"
    INTERFACE_LINK_LIBRARIES "hip::amdhip64")
  add_library(hip::device INTERFACE IMPORTED)
  set_target_properties(hip::device PROPERTIES
    INTERFACE_COMPILE_OPTIONS "$<$<COMPILE_LANGUAGE:CXX>:SHELL:-x hip>"
    INTERFACE_LINK_OPTIONS "$<$<LINK_LANGUAGE:CXX>:--hip-link>"
    INTERFACE_LINK_LIBRARIES "hip::host")
endif()

include("@ROOT@/lib/cmake/hip/hip-functions.cmake")
