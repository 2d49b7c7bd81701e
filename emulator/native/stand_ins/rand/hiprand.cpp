// The exported functions of libhiprand.so.
#include "rand/generator.hpp"

namespace {

using namespace random_numbers;

int status(Outcome outcome) {
    switch (outcome) {
        case Outcome::ok: return 0;
        case Outcome::no_handle: return 101;
        case Outcome::no_pointer:
        case Outcome::bad_size:
        case Outcome::bad_value: return 104;
        case Outcome::not_supported: return 1000;
        case Outcome::failed: break;
    }
    return 201;
}

/// A generator of this type; those of quasi-random numbers are not there.
int create(Generator** generator, int type, bool for_host) {
    if (generator == nullptr) return 104;
    if (!stand_in::on_emulator("hipRAND")) return 201;
    Engine engine;
    switch (type) {
        case 400: case 401: engine = hipscope_random::Xorwow{}; break;
        case 402: engine = hipscope_random::Mrg{}; break;
        case 405: engine = hipscope_random::Philox{}; break;
        case 403: case 404: engine = Mt19937{}; break;  // MTGP32 is a Mersenne Twister, too
        default: return 103;
    }
    *generator = new Generator{engine, 0, 0, false, for_host, nullptr};  // NOLINT: the program's until it destroys it
    return 0;
}

}  // namespace

#define RAND(HipName, rocname) STAND_IN_API int hiprand##HipName
#define NAMED(HipName, rocname) "hiprand" #HipName
#define GIVE(outcome) return status(outcome)
#include "rand/functions.inc"

STAND_IN_API int hiprandCreateGenerator(Generator** generator, int type) { return create(generator, type, false); }
STAND_IN_API int hiprandCreateGeneratorHost(Generator** generator, int type) { return create(generator, type, true); }
STAND_IN_API int hiprandDestroyGenerator(Generator* g) {
    if (g == nullptr) return 101;
    if (hipStreamSynchronize != nullptr) hipStreamSynchronize(g->stream);
    delete g;  // NOLINT(cppcoreguidelines-owning-memory)
    return 0;
}
STAND_IN_API int hiprandSetPseudoRandomGeneratorSeed(Generator* g, unsigned long long seed) {
    if (g == nullptr) return 101;
    g->seed = seed;
    g->begun = false;
    return 0;
}
STAND_IN_API int hiprandSetGeneratorOffset(Generator* g, unsigned long long offset) {
    if (g == nullptr) return 101;
    g->offset = offset;
    g->begun = false;
    return 0;
}
STAND_IN_API int hiprandGetVersion(int* version) {
    if (version == nullptr) return 104;
    *version = 201000;
    return 0;
}
STAND_IN_API int hiprandGenerateSeeds(Generator* g) { return g == nullptr ? 101 : 0; }
STAND_IN_API int hiprandSetGeneratorOrdering(Generator* g, int) { return g == nullptr ? 101 : 0; }
