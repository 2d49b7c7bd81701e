// Uses of undefined values in words.
#include <bit>

#include "core/byte_count.hpp"
#include "sanitize/sanitizer.hpp"

namespace hipscope::sanitize {
namespace {

std::string what_for(const UndefinedFound& found) {
    switch (found.use) {
        case UndefinedUse::store: return "store of " + byte_count(found.bytes) + " that were never initialised";
        case UndefinedUse::address: return "an address depends on a value that was never initialised";
        case UndefinedUse::branch: return "a branch depends on a value that was never initialised";
        case UndefinedUse::index: return "an index depends on a value that was never initialised";
        case UndefinedUse::atomic_memory: return "atomic operation on " + byte_count(found.bytes) + " that were never initialised";
        case UndefinedUse::atomic_operand: return "atomic operation with a value that was never initialised";
    }
    return "";
}

}  // namespace

void Sanitizer::report_undefined(const UndefinedFound& found) {
    const UndefinedOrigin& from = found.origin;
    const bool elsewhere = (from.space != Space::none || from.shuffled) && from.pc != found.at.pc;
    if (reports_.again(Defect::uninitialised, found.at.pc, elsewhere ? from.pc : ~0U)) return;
    Case told;
    told.defect = Defect::uninitialised;
    told.at = found.at;
    told.message = what_for(found);
    if (from.shuffled) {
        told.message += "; a shuffle took it from a lane that does not take part";
        told.other = Place{from.pc, from.group, from.wave, std::countr_zero(from.lanes)};
        reports_.add(std::move(told));
        return;
    }
    if (from.space == Space::none) {
        told.message += "; it was in a register at the start";
        reports_.add(std::move(told));
        return;
    }
    // The load of the reported lane, or the first of the others.
    const bool own = found.at.lane >= 0 && ((from.lanes >> static_cast<unsigned>(found.at.lane)) & 1U) != 0;
    const int lane = own ? found.at.lane : std::countr_zero(from.lanes);
    const std::uint64_t address = from.address[static_cast<std::size_t>(lane)];
    if (elsewhere) told.other = Place{from.pc, from.group, from.wave, from.space == Space::scalar ? -1 : lane};
    told.bytes = {from.space == Space::scalar ? Space::global : from.space, address, from.bytes, false};
    const std::string loaded = elsewhere ? "; it was loaded from " : "; they lie at ";
    if (from.space == Space::lds) {
        told.message += loaded + "LDS offset " + std::to_string(address);
    } else if (from.space == Space::scratch) {
        told.message += loaded + "offset " + std::to_string(address) + " of the lane's private memory";
    } else if (const Allocation* block = memory_.find(address)) {
        told.allocation = note_of(block, false);
        told.message += loaded + "byte " + std::to_string(address - block->address) + " of an allocation of " + byte_count(block->bytes);
    }
    reports_.add(std::move(told));
}

}  // namespace hipscope::sanitize
