// Races and stale reads in words.
#include "sanitize/sanitizer.hpp"

namespace hipscope::sanitize {
namespace {

const char* what(const Trace& trace, bool wrote) {
    if (trace.scope() == scope::plain) return wrote ? "store" : "load";
    return wrote ? "atomic store" : "atomic load";
}

}  // namespace

void Sanitizer::check_races(const Wave& wave, const Instruction& in, const Shape& shape) {
    GroupRecord& r = record(*wave.group);
    const auto found = [this, &wave](const Conflict& c) { report_conflict(wave, c); };  // two pointers: std::function holds them in itself
    races_.access(r.order, wave, in, shape, found);
}

void Sanitizer::report_conflict(const Wave& wave, const Conflict& c) {
    const MemoryAccess& made = wave.access;
    const bool global = made.space != Space::lds;
    if (global && is_internal(c.address)) return;
    const Defect defect = c.synchronised ? Defect::stale : Defect::race;
    if (defect == Defect::stale ? !checks_.stale : !checks_.races) return;
    const auto pending = pending_.find({wave.pc, c.first.pc()});
    if (pending != pending_.end()) {
        ++pending->second.count;
        return;
    }
    if (c.seed == ~0U && reports_.again(defect, wave.pc, c.first.pc())) return;
    Case found;
    found.defect = defect;
    found.at = place(wave, made.space == Space::scalar ? -1 : c.lane);
    found.other = Place{c.first.pc(), c.by.group, c.by.wave, c.first.lane()};
    found.bytes = {global ? Space::global : Space::lds, c.address, c.bytes, c.writes};
    const std::string where = global ? "global memory" : "LDS offset " + std::to_string(c.address);
    const bool atomic = made.kind == AccessKind::atomic || made.kind == AccessKind::atomic_return;
    const std::string mine = atomic ? "atomic operation" : c.writes ? "store" : "load";
    if (defect == Defect::stale) {
        const bool other_xcd = c.by.group % launch_->xcds != wave.xcd;
        found.message = std::string("load may see an old value: the workgroup that stored it ") + (other_xcd ? "runs on another XCD" : "runs on another CU") +
                        (c.released ? ", and this one has not invalidated its caches since (acquire fence)" : " and has not written back its caches since (release fence)");
    } else if (c.by.group == wave.group->number && c.by.wave == wave.id_in_group) {
        found.message = "lanes of one store write different values to the same word of " + where;
    } else {
        found.message = mine + " races with " + (c.wrote_first && c.first.scope() == scope::plain ? "a " : "an earlier ") + what(c.first, c.wrote_first) + " of the same word of " + where +
                        (c.by.group == wave.group->number ? " by another wave of the workgroup" : " by another workgroup");
        if (c.in_flight) found.message += ", which was in flight at the barrier between them (no s_waitcnt lgkmcnt, a fence)";
    }
    if (global) found.allocation = note_of(memory_.find(c.address), false);
    if (c.seed == ~0U) reports_.add(std::move(found));
    else pending_.emplace(std::pair(wave.pc, c.first.pc()), PendingRace{std::move(found), c.seed, 1});
}

/// Two lanes of one wave meet in a word of LDS, and no barrier of the workgroup lies between.
void Sanitizer::report_exchange(const Wave& wave, const LaneExchange& e) {
    if (reports_.again(Defect::wave_order, wave.pc, e.first_pc)) return;
    Case found;
    found.defect = Defect::wave_order;
    found.at = place(wave, e.lane);
    found.other = Place{e.first_pc, wave.group->number, wave.id_in_group, e.first_lane};
    found.bytes = {Space::lds, e.address, wave.access.bytes, !e.wrote_first};
    found.message = e.wrote_first ? "lane " + std::to_string(e.lane) + " loads what lane " + std::to_string(e.first_lane) + " of its wave has stored to LDS offset "
                                  : "lane " + std::to_string(e.lane) + " stores over what lane " + std::to_string(e.first_lane) + " of its wave has loaded from LDS offset ";
    found.message += std::to_string(e.address) + " without a barrier, wave barrier, fence or volatile between: the compiler may change their order";
    reports_.add(std::move(found));
}

void Sanitizer::end() {
    for (auto& [pair, race] : pending_) {
        if (races_.starts_swap(race.seed)) continue;
        for (std::uint64_t i = 1; i < race.count; ++i)
            if (!reports_.again(race.found.defect, pair.first, pair.second)) reports_.add(race.found);
        if (!reports_.again(race.found.defect, pair.first, pair.second)) reports_.add(std::move(race.found));
    }
    pending_.clear();
    if (uninitialised_) reports_.end([this](std::uint32_t pc) { return uninitialised_->looked_at(pc); });
}

bool Sanitizer::is_internal(std::uint64_t address) const {
    const Allocation* block = memory_.find(address);
    return block != nullptr && internal_.contains(block->address);
}

}  // namespace hipscope::sanitize
