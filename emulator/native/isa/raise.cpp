// The one-line messages of faults.
#include "isa/raise.hpp"

#include <cstdio>

namespace hipscope::isa {
namespace {

const char* what(FaultKind kind) {
    switch (kind) {
        case FaultKind::out_of_bounds: return "access outside every live allocation";
        case FaultKind::stack_overflow: return "stack overflow: access outside the lane's private memory";
        case FaultKind::misaligned: return "misaligned atomic access";
        case FaultKind::trap: return "s_trap executed";
        case FaultKind::assertion: return "assertion failed on the device";
        case FaultKind::unsupported: return "instruction or state that is not emulated";
        case FaultKind::runaway: return "runaway kernel";
        case FaultKind::none: break;
    }
    return "fault";
}

}  // namespace

Step raise(Wave& wave, FaultKind kind, std::uint64_t address, std::uint32_t bytes, int lane, bool write) {
    char text[160];
    if (bytes != 0) {
        std::snprintf(text, sizeof text, "%s: lane %d %s %u bytes at 0x%llx", what(kind), lane, write ? "writes" : "reads",
                      bytes, static_cast<unsigned long long>(address));
    } else {
        std::snprintf(text, sizeof text, "%s", what(kind));
    }
    wave.fault = Fault{kind, write, address, bytes, lane, text};
    return Step::fault;
}

}  // namespace hipscope::isa
