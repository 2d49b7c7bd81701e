// Life of the checks: allocations, dispatches, workgroups, and the execution of one instruction under them.
#include "sanitize/sanitizer.hpp"

#include <algorithm>
#include <bit>

#include "core/clock_step.hpp"
#include "engine/host_services.hpp"
#include "engine/stray_access.hpp"
#include "sanitize/lanes.hpp"

namespace hipscope::sanitize {

Sanitizer::Sanitizer(Checks checks, Memory& memory) : checks_(checks), memory_(memory), reports_(checks) {
    memory.keep_freed();
    if (checks.uninitialised) uninitialised_.emplace([this](const UndefinedFound& found) { report_undefined(found); });
}

void Sanitizer::allocated(std::uint64_t address, std::vector<std::uint64_t> frames, bool written) {
    const Allocation* block = memory_.find(address);
    if (block == nullptr) return;
    allocated_by_[block->id] = std::move(frames);
    if (checks_.races || checks_.stale) races_.expect(block->address, block->bytes);
    if (uninitialised_ && !written) uninitialised_->memory().undefine_block(address, block->bytes);
}

void Sanitizer::copied(const void* to, const void* from, std::uint64_t bytes) {
    if (uninitialised_) uninitialised_->memory().copy(reinterpret_cast<std::uint64_t>(to), reinterpret_cast<std::uint64_t>(from), bytes);
}

void Sanitizer::filled(const void* to, std::uint64_t bytes) {
    if (uninitialised_) uninitialised_->memory().define(reinterpret_cast<std::uint64_t>(to), bytes);
}

void Sanitizer::undefined(std::uint64_t address, std::uint64_t bytes) {
    if (uninitialised_) uninitialised_->memory().undefine(address, bytes);
}

void Sanitizer::released(std::uint64_t address, std::vector<std::uint64_t> frames) {
    const Allocation* block = memory_.find(address);
    if (block == nullptr) return;
    freed_by_[block->id] = std::move(frames);
    if (uninitialised_) uninitialised_->memory().define(block->address, block->bytes);
}

void Sanitizer::begin(const PreparedLaunch& launch, std::uint64_t dispatch) {
    launch_ = &launch;
    groups_.clear();
    recent_group_ = nullptr;
    internal_ = {launch.packet};
    if (launch.services != nullptr)
        for (const std::uint64_t block : launch.services->blocks()) internal_.insert(block);
    if (checks_.races || checks_.stale) races_.begin(launch.launch);
    if (uninitialised_) uninitialised_->begin(launch);
    reports_.begin(launch, dispatch);
}

void Sanitizer::started(Workgroup& group) {
    GroupRecord& r = record(group);
    r.number = group.number;
    r.waves.assign(group.waves.size(), {});
    for (std::size_t i = 0; i < group.waves.size(); ++i) r.waves[i].lanes = group.waves[i].exec();
    if (checks_.wave_order) r.lanes.start(launch_->lds_bytes);
    if (checks_.races || checks_.stale) races_.started(r.order, group.number, group.waves.size(), launch_->lds_bytes);
    if (uninitialised_) uninitialised_->started(group);
}

Step Sanitizer::step(Wave& wave, const Instruction& instruction) {
    if (accesses_memory(instruction.unit)) return access(wave, instruction);
    if (instruction.unit == Unit::barrier && checks_.barriers) reached_barrier(wave);
    const std::uint32_t pc = wave.pc;
    if (instruction.unit == Unit::internal && (checks_.races || checks_.stale)) {
        const Role role = races_.role(pc);
        if (role != Role::none) races_.fence(record(*wave.group).order, wave.group->number, wave.id_in_group, role);
    }
    const bool waited = wave.sync_wait != 0;
    const Step result = run(wave, instruction);
    if (instruction.unit == Unit::message && (checks_.races || checks_.stale)) {
        const Role role = races_.role(pc);
        if (role != Role::none) races_.grid_sync(record(*wave.group).order, wave.group->number, wave.id_in_group, role, !waited, result == Step::next);
    }
    return result;
}

/// Executes a memory instruction. Lanes whose access is refused are reported and left out: their stores are dropped and
/// their loads give zero (what stands for unknown values where the run is to keep going), so that one run shows more than the
/// first defect.
Step Sanitizer::access(Wave& wave, const Instruction& in) {
    const std::uint64_t exec = wave.exec();
    const std::uint32_t given = wave.group->strays != nullptr ? kPoison : 0;
    std::uint64_t refused = 0;
    Step result = Step::next;
    wave.access.space = Space::none;
    while ((result = run(wave, in)) == Step::fault) {
        const FaultKind kind = wave.fault.kind;
        if (kind != FaultKind::out_of_bounds && kind != FaultKind::stack_overflow && kind != FaultKind::misaligned) break;
        stray(wave, in);
        const int lane = wave.fault.lane;
        wave.fault = {};
        wave.access.space = Space::none;
        if (lane < 0) {  // a scalar load
            std::fill_n(&wave.sgpr[in.destination[0].index], in.destination[0].dwords, given);
            return Step::next;
        }
        refused |= std::uint64_t{1} << static_cast<unsigned>(lane);
        wave.set_s64(sreg::exec, exec & ~refused);
    }
    wave.set_s64(sreg::exec, exec);
    if (result != Step::next && result != kReadClock) return result;
    if (in.destinations != 0)
        for (std::uint64_t left = refused; left != 0; left &= left - 1)
            for (unsigned d = 0; d < in.destination[0].dwords; ++d) wave.vgpr[in.destination[0].index + d][std::countr_zero(left)] = given;
    const Shape shape = shape_of(wave.access, in.text.starts_with("flat_"));
    const MemoryAccess& made = wave.access;
    if (checks_.races || checks_.stale) races_.prefetch(made, shape);
    if (uninitialised_) uninitialised_->accessed(wave, in, shape);
    if (made.space == Space::none || made.lanes == 0) return result;
    if (checks_.bounds) check_kernarg(wave, made, shape);
    if (checks_.alignment) check_alignment(wave, in, made, shape);
    if (checks_.wave_order && made.space == Space::lds)
        record(*wave.group).lanes.access(wave, [this, &wave](const LaneExchange& e) { report_exchange(wave, e); });
    const bool arguments = made.space == Space::scalar && made.address[0][0] - launch_->packet < LaunchArea::bytes;  // no store to them is a race
    if ((checks_.races || checks_.stale) && !arguments) check_races(wave, in, shape);
    return result;
}

std::optional<AllocationNote> Sanitizer::note_of(const Allocation* block, bool freed) const {
    if (block == nullptr) return std::nullopt;
    AllocationNote note{block->id, block->address, block->bytes, freed, {}, {}};
    if (const auto by = allocated_by_.find(block->id); by != allocated_by_.end()) note.allocated_by = by->second;
    if (const auto by = freed_by_.find(block->id); by != freed_by_.end() && freed) note.freed_by = by->second;
    return note;
}

}  // namespace hipscope::sanitize
