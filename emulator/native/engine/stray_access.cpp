#include "engine/stray_access.hpp"

#include <bit>

#include "core/byte_count.hpp"
#include "engine/workgroup.hpp"

namespace hipscope {

StrayAccess stray_access(const Instruction& instruction, const Fault& fault) {
    const bool flat = instruction.text.starts_with("flat_");
    const std::uint64_t high = fault.address >> 32U;
    StrayAccess found{Space::global, fault.address};
    if (instruction.unit == Unit::lds || (flat && high == aperture::shared_base >> 32U)) found.space = Space::lds;
    if (instruction.unit == Unit::scratch || (flat && high == aperture::private_base >> 32U)) found.space = Space::scratch;
    if (flat && found.space != Space::global) found.address &= aperture::limit;
    return found;
}

std::string outside_own_memory(const StrayAccess& access, std::uint32_t lds_bytes, std::uint32_t scratch_per_lane) {
    const std::string offset = std::to_string(static_cast<std::int32_t>(access.address));
    if (access.space == Space::lds)
        return "at LDS offset " + offset + (lds_bytes == 0 ? "; the workgroup has no LDS" : "; the workgroup has " + byte_count(lds_bytes) + " of LDS");
    if (access.space == Space::scratch)
        return "at offset " + offset + " of the lane's private memory, which has " + byte_count(scratch_per_lane);
    return {};
}

void StrayLog::add(std::uint64_t group, std::uint32_t pc, const Fault& fault) {
    const std::lock_guard lock(mutex_);
    Entry& entry = entries_[pc];
    if (entry.lanes == 0 || group < entry.group) {
        entry.group = group;
        entry.fault = fault;
    }
    ++entry.lanes;
}

Step leave_out(Wave& wave, const Instruction& in, std::uint32_t pc) {
    const std::uint64_t exec = wave.exec();
    std::uint64_t refused = 0;
    Step result = Step::fault;
    while (result == Step::fault && wave.fault.kind == FaultKind::out_of_bounds) {
        wave.group->strays->add(wave.group->number, pc, wave.fault);
        const int lane = wave.fault.lane;
        wave.fault = {};
        wave.access.space = Space::none;
        if (lane < 0) {  // a scalar load
            for (unsigned d = 0; d < in.destination[0].dwords; ++d) wave.sgpr[in.destination[0].index + d] = kPoison;
            return Step::next;
        }
        refused |= std::uint64_t{1} << static_cast<unsigned>(lane);
        wave.set_s64(sreg::exec, exec & ~refused);
        result = in.run(wave, in);
    }
    wave.set_s64(sreg::exec, exec);
    if (result == Step::next && in.destinations != 0)
        for (std::uint64_t left = refused; left != 0; left &= left - 1)
            for (unsigned d = 0; d < in.destination[0].dwords; ++d) wave.vgpr[in.destination[0].index + d][std::countr_zero(left)] = kPoison;
    return result;
}

}  // namespace hipscope
