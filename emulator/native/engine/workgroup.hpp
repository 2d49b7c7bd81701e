// A workgroup in flight: its waves with their registers, LDS and scratch. Storage is kept and reused.
#pragma once

#include <array>
#include <cstdint>
#include <vector>

#include "core/aligned.hpp"
#include "core/wave.hpp"
#include "engine/launch.hpp"

namespace hipscope {

inline constexpr std::size_t kMaxWavesPerGroup = 1024 / kLanes;

using RegisterRow = std::array<std::uint32_t, kLanes>;  // one VGPR or AGPR of one wave

enum class WaveState : std::uint8_t { ready, at_barrier, done };

struct Workgroup {
    std::uint64_t number = 0;              // linear index in the grid
    std::vector<Wave> waves;
    std::vector<WaveState> state;
    std::uint32_t alive = 0;
    std::uint32_t waiting = 0;             // at the barrier
    std::uint64_t executed = 0;            // instructions, for the run-away limit
    std::uint32_t scalars_set = 0;         // SGPRs of each wave that the launch has given a value, from s0 on
    std::uint64_t kernarg = 0;             // address of its kernarg segment; 0: the launch's own
    StrayLog* strays = nullptr;            // if set, accesses out of bounds are noted in it and left out
    std::uint32_t cycles_each = 4;         // that an instruction adds to the clock of a wave that is not timed
    AlignedVector<RegisterRow> registers;
    AlignedVector<std::uint8_t> lds;
    AlignedVector<std::uint8_t> scratch;

    explicit Workgroup(const PreparedLaunch& launch, Memory& memory) { prepare(launch, memory); }
    Workgroup(const Workgroup&) = delete;
    Workgroup& operator=(const Workgroup&) = delete;

    /// Make room for a workgroup of the launch; what was there before stays where there is room already.
    void prepare(const PreparedLaunch& launch, Memory& memory);
    /// Set every wave to its state at the start of workgroup `number`.
    void start(const PreparedLaunch& launch, std::uint64_t number);
    /// Of registers and memory.
    [[nodiscard]] std::size_t bytes() const { return registers.size() * sizeof(RegisterRow) + lds.size() + scratch.size(); }
    /// True when all waves that are alive wait at the barrier.
    [[nodiscard]] bool barrier_complete() const { return alive != 0 && waiting >= alive; }
    /// Let the waves go on when all that are alive wait at the barrier; true when that happened.
    bool release_barrier();
};

}  // namespace hipscope
