// The exported functions of libhiprand.so.
#include "rand/generator.hpp"

using namespace random_numbers;

namespace {
constexpr Library library{"hipRAND", 201000, 1000, 201, 405, 404};
}

#define RAND(HipName, rocname) STAND_IN_API int hiprand##HipName
#define NAMED(HipName, rocname) "hiprand" #HipName
#include "rand/functions.inc"

STAND_IN_API int hiprandSetGeneratorOrdering(Generator* g, int) { return status(g == nullptr ? Outcome::no_handle : Outcome::ok); }
