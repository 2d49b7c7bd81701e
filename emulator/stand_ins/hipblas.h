// Another place of this header.
#pragma once
#include "hipblas/hipblas.h"
