// Generators of random numbers of the host API of hipRAND and rocRAND: one sequence, taken up where the last call left it.
#pragma once

#include <cmath>
#include <cstdint>
#include <random>
#include <variant>

#include "blas/numbers.hpp"
#include "hipscope_random.h"
#include "runtime.hpp"

namespace random_numbers {

using stand_in::Operands;
using stand_in::Outcome;

/// The generator of the C++ library, as an engine of hipscope_random.
struct Mt19937 {
    std::mt19937 engine;
    hipscope_random::KeptNormal kept;

    void seed(std::uint64_t seed, std::uint64_t, std::uint64_t offset) {
        engine.seed(static_cast<std::uint32_t>(seed ^ seed >> 32U));
        engine.discard(offset);
        kept = {};
    }
    std::uint32_t next() { return static_cast<std::uint32_t>(engine()); }
};

using Engine = std::variant<hipscope_random::Xorwow, hipscope_random::Philox, hipscope_random::Mrg, Mt19937>;

struct Generator {
    Engine engine;
    std::uint64_t seed = 0, offset = 0;
    bool begun = false;  // the engine has been seeded
    bool for_host = false;
    void* stream = nullptr;
};

/// `n` numbers of type T by `draw(engine)`, when the call's turn in the stream has come.
template <class T, class Draw>
Outcome fill(Generator* g, const char* name, T* output, std::size_t n, Draw draw) {
    if (g == nullptr) return Outcome::no_handle;
    if (n == 0) return Outcome::ok;
    if (output == nullptr) return Outcome::no_pointer;
    const auto work = [=](Operands& operands) {
        if (!g->for_host) operands.writes("output", output, sizeof(T) * n, sizeof(T) * n, 1);
        if (!operands.fine()) return;
        std::visit(
            [&](auto& engine) {
                if (!g->begun) engine.seed(g->seed, 0, g->offset);
                g->begun = true;
                engine.kept = {};  // a normal number of another call is none of this one's
                for (std::size_t i = 0; i < n; ++i) output[i] = draw(engine);
            },
            g->engine);
    };
    return stand_in::compute(name, g->stream, work, g->for_host);
}

/// What hipRAND and rocRAND have different numbers for: statuses, generators, versions.
struct Library {
    const char* name;
    int version;
    int not_supported, failed;
    int philox, mt19937;
};

}  // namespace random_numbers
