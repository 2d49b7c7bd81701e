// Another place of this header.
#pragma once
#include "roctracer/roctx.h"
