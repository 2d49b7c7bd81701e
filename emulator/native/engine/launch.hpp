// One kernel launch: what the host asked for, and the launch state that hardware would set up for it
// (LLVM AMDGPUUsage, "Initial Kernel Execution State" and "Kernarg Segment").
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/global_sync.hpp"
#include "core/memory_kind.hpp"
#include "engine/code_object.hpp"

namespace hipscope {

class HostServices;
class StrayLog;

struct Launch {
    const CodeObject* object = nullptr;
    const Kernel* kernel = nullptr;
    std::array<std::uint32_t, 3> grid{};       // work-items
    std::array<std::uint32_t, 3> workgroup{};
    std::uint32_t dynamic_lds = 0;
    bool cooperative = false;
    std::vector<std::uint8_t> kernarg;         // explicit arguments; hidden ones are filled by `prepare`
};

/// The kernel's own instructions; all of the code object's when it calls functions, as their targets are unknown.
std::span<const Instruction> code_of(const Launch& launch);

/// Fills VGPRs, LDS and scratch with a pseudo-random pattern before each wave, to show reads of unwritten values. The
/// pattern depends on the seed and on the workgroup's number; `inverted` has the other value in every bit.
struct Poison {
    bool enabled = false;
    std::uint64_t seed = 0;
    bool inverted = false;
};

/// Where in the kernarg segment the addresses of what leads to the host are wanted.
struct HostArguments {
    std::optional<std::uint32_t> hostcall, printf;
};

/// The device's constant-rate clock counts from its start-up: never near 0 when a program runs.
inline constexpr std::uint64_t kRealtimeAtStart = 100'000'000ULL * 3600;

struct PreparedLaunch {
    Launch launch;
    std::array<std::uint32_t, 3> groups{};
    std::uint64_t group_count = 0;
    std::uint32_t waves_per_group = 0;
    std::uint32_t lds_bytes = 0;          // static plus dynamic
    std::uint32_t scratch_per_lane = 0;
    std::uint32_t vgpr_rows = 0;          // rows a wave's register file must have
    std::uint32_t entry = 0;              // instruction index
    std::uint64_t packet = 0;             // addresses in device memory
    std::uint64_t kernarg_address = 0;
    std::uint64_t queue_address = 0;
    std::shared_ptr<GlobalSync> sync;     // shared by all waves of the dispatch
    Poison poison;
    HostServices* services = nullptr;     // when the kernel may ask the host for something while it runs
    HostArguments host_arguments;
    std::uint64_t realtime = kRealtimeAtStart;  // s_memrealtime when the dispatch begins, ticks of 10 ns
    StrayLog* strays = nullptr;           // see Workgroup
    std::uint32_t cycles_each = 4;        // what an instruction adds to the clock of a wave that is not timed
    std::uint32_t xcds = 1;               // of the device: workgroup i runs on XCD i % xcds
    std::vector<KindRange> kinds;         // memory that is no plain device memory

    [[nodiscard]] std::uint64_t waves() const { return group_count * waves_per_group; }
};

/// A block of device memory that holds the AQL packet, the queue and the kernarg segment of the running launch.
class LaunchArea {
public:
    static constexpr std::uint64_t bytes = 1U << 16U;
    /// What cooperative groups read, and the barriers of the grids that they write, from the packet on.
    static constexpr std::uint64_t cooperation = 512, cooperation_bytes = 128;
    explicit LaunchArea(Memory& memory);
    [[nodiscard]] std::uint64_t address() const { return address_; }

private:
    std::uint64_t address_;
};

/// Write packet and kernarg segment and work out sizes. Throws std::runtime_error when the launch is impossible
/// (no threads, too large a workgroup, too much LDS, kernel cannot be emulated).
PreparedLaunch prepare(Launch launch, const LaunchArea& area, HostServices& services);

}  // namespace hipscope
