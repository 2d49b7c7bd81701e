// Which memory an access that left its bounds meant, and where in it: what plain runs and the sanitizers say alike.
#pragma once

#include <cstdint>
#include <map>
#include <mutex>
#include <string>

#include "core/instruction.hpp"
#include "core/wave.hpp"

namespace hipscope {

/// `address` is an offset in the workgroup's LDS or the lane's private memory, unless `space` is global.
struct StrayAccess {
    Space space = Space::global;
    std::uint64_t address = 0;
};

/// What `fault`, raised by `instruction`, was about. Flat addresses in an aperture are those of LDS or private memory.
StrayAccess stray_access(const Instruction& instruction, const Fault& fault);

/// "at LDS offset 260; the workgroup has 256 bytes of LDS". Empty for global memory.
std::string outside_own_memory(const StrayAccess& access, std::uint32_t lds_bytes, std::uint32_t scratch_per_lane);

/// Accesses of one launch that were out of bounds and left out: for each instruction the one of the lowest workgroup, and how many
/// lanes had one. Filled by all threads.
class StrayLog {
public:
    struct Entry {
        std::uint64_t group = 0, lanes = 0;
        Fault fault;
    };
    void add(std::uint64_t group, std::uint32_t pc, const Fault& fault);
    /// By index of the instruction.
    [[nodiscard]] const std::map<std::uint32_t, Entry>& entries() const { return entries_; }

private:
    std::mutex mutex_;
    std::map<std::uint32_t, Entry> entries_;
};

/// What a load that was left out gives: NaN as a half, a bfloat16, a float and a double, and a large number as an integer.
inline constexpr std::uint32_t kPoison = 0x7ffb7ffb;

/// The instruction at index `pc` has just raised a fault. When that is an access out of bounds, note it in the wave's log and execute
/// the instruction for the other lanes: what the lane stores is dropped, what it loads is `kPoison`. Else the fault stays.
Step leave_out(Wave& wave, const Instruction& instruction, std::uint32_t pc);

}  // namespace hipscope
