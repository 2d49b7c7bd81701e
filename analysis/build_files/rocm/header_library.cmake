# `find_package(@PACKAGE@)` where there is no ROCm: headers over those of rocPRIM, which has to be installed.
include(CMakeFindDependencyMacro)
find_dependency(hip)
find_dependency(rocprim)
set(@PACKAGE@_INCLUDE_DIR "@ROOT@/include")
set(@PACKAGE@_INCLUDE_DIRS "${@PACKAGE@_INCLUDE_DIR}")
if(NOT TARGET @TARGET@)
  add_library(@TARGET@ INTERFACE IMPORTED)
  # No include directory: the compilers find the headers by themselves, behind those of the system.
  set_target_properties(@TARGET@ PROPERTIES INTERFACE_LINK_LIBRARIES "roc::rocprim_hip;hip::device")
endif()
set(@PACKAGE@_LIBRARY @TARGET@)
set(@PACKAGE@_LIBRARIES @TARGET@)
