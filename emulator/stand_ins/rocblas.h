// Another place of this header.
#pragma once
#include "rocblas/rocblas.h"
