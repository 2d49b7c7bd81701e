// rocRAND in kernels, on the emulator: hipscope's own generators by the published algorithms.
#pragma once

#include <hip/hip_runtime.h>

#include "../hipscope_random.h"
#include "rocrand.h"

#ifndef FQUALIFIERS
#define FQUALIFIERS __forceinline__ __device__
#endif

typedef hipscope_random::Xorwow rocrand_state_xorwow;
typedef hipscope_random::Philox rocrand_state_philox4x32_10;
typedef hipscope_random::Mrg rocrand_state_mrg32k3a;

#define RANDOM(name) rocrand##name
#define RANDOM_DOUBLES(name, count) rocrand_##name##_double##count
#define RANDOM_PHILOX rocrand_state_philox4x32_10
#define RANDOM_QUALIFIERS FQUALIFIERS
#include "../hipscope_random_functions.h"
