// hipRAND in kernels, on the emulator: hipscope's own generators by the published algorithms.
#pragma once

#include <hip/hip_runtime.h>

#include "../hipscope_random.h"
#include "hiprand.h"

#ifndef QUALIFIERS
#define QUALIFIERS __forceinline__ __device__
#endif

typedef hipscope_random::Xorwow hiprandStateXORWOW;
typedef hipscope_random::Philox hiprandStatePhilox4_32_10;
typedef hipscope_random::Mrg hiprandStateMRG32k3a;
typedef hiprandStateXORWOW hiprandStateXORWOW_t;
typedef hiprandStatePhilox4_32_10 hiprandStatePhilox4_32_10_t;
typedef hiprandStateMRG32k3a hiprandStateMRG32k3a_t;
typedef hiprandStateXORWOW hiprandState_t;
typedef hiprandStateXORWOW hiprandState;

#define RANDOM(name) hiprand##name
#define RANDOM_DOUBLES(name, count) hiprand_##name##count##_double
#define RANDOM_PHILOX hiprandStatePhilox4_32_10_t
#define RANDOM_QUALIFIERS QUALIFIERS
#include "../hipscope_random_functions.h"
