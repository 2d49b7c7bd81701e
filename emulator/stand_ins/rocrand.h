// Another place of this header.
#pragma once
#include "rocrand/rocrand.h"
