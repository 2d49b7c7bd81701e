// The exported functions of librocrand.so.
#include "rand/generator.hpp"

using namespace random_numbers;

namespace {
constexpr Library library{"rocRAND", 300200, 108, 107, 404, 407};
}

#define RAND(HipName, rocname) STAND_IN_API int rocrand_##rocname
#define NAMED(HipName, rocname) "rocrand_" #rocname
#include "rand/functions.inc"
