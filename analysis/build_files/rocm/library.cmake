# `find_package(@PACKAGE@)` where there is no ROCm: the emulator's stand-in.
include(CMakeFindDependencyMacro)
find_dependency(hip)
set(@PACKAGE@_INCLUDE_DIR "@ROOT@/include")
set(@PACKAGE@_INCLUDE_DIRS "${@PACKAGE@_INCLUDE_DIR}")
if(NOT TARGET @TARGET@)
  add_library(@TARGET@ SHARED IMPORTED)
  set_target_properties(@TARGET@ PROPERTIES
    IMPORTED_LOCATION "@ROOT@/lib/lib@PACKAGE@.so"
    IMPORTED_SONAME "lib@PACKAGE@.so"
    INTERFACE_INCLUDE_DIRECTORIES "${@PACKAGE@_INCLUDE_DIR}"
    INTERFACE_LINK_LIBRARIES "hip::host")
endif()
set(@PACKAGE@_LIBRARY @TARGET@)
set(@PACKAGE@_LIBRARIES @TARGET@)
