// Accesses outside what a kernel may touch, and misaligned ones.
#include <bit>
#include <cstdio>

#include "core/byte_count.hpp"
#include "engine/nearest_variable.hpp"
#include "engine/stray_access.hpp"
#include "sanitize/lanes.hpp"
#include "sanitize/sanitizer.hpp"

namespace hipscope::sanitize {
namespace {

std::string verb(bool write, std::uint32_t bytes) { return std::string(write ? "store" : "load") + " of " + byte_count(bytes); }

/// The block that a stray access most likely belongs to: the one it starts in, or the nearer of its neighbours.
const Allocation* nearest(const Memory& memory, std::uint64_t address) {
    if (const Allocation* inside = memory.find(address)) return inside;
    const auto& blocks = memory.blocks();
    const auto after = blocks.upper_bound(address);
    const Allocation* left = after == blocks.begin() ? nullptr : &std::prev(after)->second;
    const Allocation* right = after == blocks.end() ? nullptr : &after->second;
    const std::uint64_t to_left = left == nullptr ? ~0ULL : address - (left->address + left->bytes);
    const std::uint64_t to_right = right == nullptr ? ~0ULL : right->address - address;
    const Allocation* found = to_left <= to_right ? left : right;
    return std::min(to_left, to_right) > Memory::wide_guard ? nullptr : found;
}

std::string where(const Allocation& block, std::uint64_t address) {
    const std::string size = byte_count(block.bytes);
    if (address < block.address) return byte_count(block.address - address) + " before an allocation of " + size;
    if (address < block.address + block.bytes) return "over the end of an allocation of " + size;
    return byte_count(address - block.address - block.bytes) + " after the end of an allocation of " + size;
}

}  // namespace

/// The fault that the instruction just raised.
void Sanitizer::stray(const Wave& wave, const Instruction& in) {
    const Fault& fault = wave.fault;
    const StrayAccess stray = stray_access(in, fault);
    Case found;
    found.at = place(wave, fault.lane);
    found.bytes = {stray.space, stray.address, fault.bytes, fault.write};
    const std::string what = verb(fault.write, fault.bytes);
    if (fault.kind == FaultKind::misaligned) {
        if (!checks_.alignment || reports_.again(Defect::misaligned, wave.pc)) return;
        found.defect = Defect::misaligned;
        found.message = "atomic operation on " + byte_count(fault.bytes) + " at an address that is not a multiple of " +
                        std::to_string(fault.bytes) + ", which the hardware refuses";
        if (found.bytes.space == Space::global) found.allocation = note_of(memory_.find(fault.address), false);
        reports_.add(std::move(found));
        return;
    }
    const Allocation* freed = found.bytes.space == Space::global ? memory_.find_freed(fault.address) : nullptr;
    found.defect = freed != nullptr ? Defect::use_after_free : Defect::out_of_bounds;
    if (!checks_.bounds || reports_.again(found.defect, wave.pc)) return;
    if (found.bytes.space != Space::global) {
        found.message = what + " " + outside_own_memory(stray, wave.lds_bytes, wave.scratch_per_lane);
    } else if (freed != nullptr) {
        found.allocation = note_of(freed, true);
        found.message = what + " " + byte_count(fault.address - freed->address) + " into an allocation of " + byte_count(freed->bytes) +
                        " that has been freed";
    } else if (const Allocation* near = nearest(memory_, fault.address)) {
        found.allocation = note_of(near, false);
        const std::string variable = beside_variable(*launch_->launch.object, near->address, fault.address);
        found.message = what + " " + (variable.empty() ? where(*near, fault.address) : variable);
    } else {
        char text[24];
        std::snprintf(text, sizeof text, "0x%llx", static_cast<unsigned long long>(fault.address));
        found.message = what + " at " + text + (fault.address < 65536 ? ", a null pointer" : ", where no allocation is near");
    }
    reports_.add(std::move(found));
}

/// The kernarg segment lies in a block with the packet and the queue, and nothing of that block may be written but the
/// barriers of a cooperative launch, which the device library counts with atomics.
void Sanitizer::check_kernarg(const Wave& wave, const MemoryAccess& made, const Shape& shape) {
    if (made.space != Space::global && made.space != Space::scalar) return;
    if (shape.span.highest < launch_->packet || shape.span.lowest >= launch_->packet + LaunchArea::bytes) return;
    // Compilers load up to 16 aligned bytes where the last of them lie outside.
    const std::uint64_t end = launch_->kernarg_address + (std::uint64_t{launch_->launch.kernel->kernarg_bytes} + 15) / 16 * 16;
    const std::uint64_t area_end = launch_->packet + LaunchArea::bytes;
    const bool write = made.kind != AccessKind::load;
    for (std::uint64_t left = made.lanes; left != 0; left &= left - 1) {
        const int lane = std::countr_zero(left);
        const std::uint64_t address = made.at(0, static_cast<std::size_t>(lane));
        if (address - launch_->packet >= LaunchArea::bytes) continue;
        if (launch_->launch.cooperative && address - launch_->packet - LaunchArea::cooperation < LaunchArea::cooperation_bytes) continue;
        const bool beyond = address >= launch_->kernarg_address && address + made.bytes > end && address < area_end;
        if ((!beyond && !write) || reports_.again(Defect::out_of_bounds, wave.pc)) continue;
        Case found{Defect::out_of_bounds, place(wave, made.space == Space::scalar ? -1 : lane), std::nullopt, {}, {made.space, address, made.bytes, write}, std::nullopt};
        found.message = beyond ? verb(write, made.bytes) + " " + byte_count(address - launch_->kernarg_address) + " into the kernel's arguments, which have " +
                                     byte_count(launch_->launch.kernel->kernarg_bytes)
                               : verb(write, made.bytes) + " into the kernel's arguments, which are read-only";
        reports_.add(std::move(found));
    }
}

void Sanitizer::check_alignment(const Wave& wave, const Instruction& in, const MemoryAccess& made, const Shape& shape) {
    if (made.space == Space::scalar) return;
    const bool atomic = made.kind == AccessKind::atomic || made.kind == AccessKind::atomic_return;
    std::uint32_t needed = 1;
    if (atomic) needed = made.bytes;
    else if (!checks_.exact_alignment) return;
    else if (made.space == Space::lds && in.unit == Unit::lds) needed = made.bytes == 12 ? 16 : made.bytes;
    else needed = made.bytes < 4 ? made.bytes : 4;
    if (needed == 1) return;
    if ((shape.bits & (needed - 1)) == 0) return;
    for (int which = 0; which < made.addresses; ++which)
        for (std::uint64_t left = made.lanes; left != 0; left &= left - 1) {
            const int lane = std::countr_zero(left);
            const std::uint64_t address = made.at(static_cast<std::size_t>(which), static_cast<std::size_t>(lane));
            if ((address & (needed - 1)) == 0) continue;
            if (reports_.again(Defect::misaligned, wave.pc)) return;
            Case found{Defect::misaligned, place(wave, lane), std::nullopt, {}, {made.space, address, made.bytes, made.kind != AccessKind::load}, std::nullopt};
            found.message = (atomic ? "atomic operation on " + byte_count(made.bytes) : verb(found.bytes.write, made.bytes)) + " at an address that is " +
                            std::to_string(address & (needed - 1)) + " past a multiple of " + std::to_string(needed);
            if (made.space == Space::global) found.allocation = note_of(memory_.find(address), false);
            reports_.add(std::move(found));
            return;
        }
}

}  // namespace hipscope::sanitize
