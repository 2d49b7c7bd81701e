// Command line of hipscope-replay.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

#include "engine/held.hpp"

namespace hipscope {

struct ReplayOptions {
    std::string dispatch, code_object, kernel, out, device_config, objdump = "llvm-objdump", cache, inputs, poison_mask, sanitize;
    std::optional<std::array<std::uint32_t, 3>> grid, workgroup;  // work-items, instead of the captured ones
    std::optional<std::uint32_t> dynamic_lds;
    std::uint64_t seed = 0;
    std::optional<std::uint64_t> poison;
    bool poison_inverted = false;                    // LDS, scratch and registers only
    std::map<std::size_t, std::string> poison_fill;  // by buffer: bytes to repeat instead of random ones
    bool trace_access = false, number_kinds = false, profile = false;
    bool timed_only = false;  // what the launch leaves in memory does not matter
    bool runs = false;  // write what changed and where accesses were, instead of whole buffers and maps
    HeldOrder held;  // where waves stop until the others have gone on; its seed is `seed`
    double max_seconds = 0;  // 0: no limit
    int threads = 1;

    /// What buffer `index` is poisoned with; empty for random bytes.
    std::string fill(std::size_t index) const { return poison_fill.count(index) != 0 ? poison_fill.at(index) : std::string(); }

    /// Throws std::runtime_error with one line about the argument that is wrong.
    static ReplayOptions parse(int argc, char** argv);
};

}  // namespace hipscope
