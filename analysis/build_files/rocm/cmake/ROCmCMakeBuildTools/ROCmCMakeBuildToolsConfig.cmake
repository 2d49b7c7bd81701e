# The newer name of the package ROCM.
include("${CMAKE_CURRENT_LIST_DIR}/../ROCM/ROCMConfig.cmake")
set(ROCmCMakeBuildTools_FOUND TRUE)
