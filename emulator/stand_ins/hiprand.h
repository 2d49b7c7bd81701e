// Another place of this header.
#pragma once
#include "hiprand/hiprand.h"
