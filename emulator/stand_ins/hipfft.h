// Another place of this header.
#pragma once
#include "hipfft/hipfft.h"
