// Global wave sync (GWS): counters that all waves of a dispatch share, for grid barriers and semaphores.
#pragma once

#include <array>
#include <cstdint>
#include <mutex>

namespace hipscope {

struct GlobalSync {
    struct Resource {
        bool initialised = false;       // by ds_gws_init; else the first barrier brings its own count
        std::uint32_t counter = 0;      // waves that the barrier still waits for, or what the semaphore holds
        std::uint32_t generation = 0;   // barriers that have opened
    };
    std::mutex mutex;
    std::array<Resource, 64> resources;
};

}  // namespace hipscope
