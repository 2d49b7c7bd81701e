// Put before the HIP headers of a distribution that are older than HIP 6.2: the installed header, then what programs
// written for newer versions also use from it.
#pragma once

#include_next <hip/hip_runtime.h>

#include <hip/hipscope_device_functions.h>
