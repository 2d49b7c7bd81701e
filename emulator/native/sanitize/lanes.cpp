// Loops over 64 addresses.
#include "sanitize/lanes.hpp"

#include <algorithm>
#include <bit>

#include "core/widest.hpp"

namespace hipscope::sanitize {
namespace {

HIPSCOPE_WIDEST bool evenly_spaced(const std::uint64_t* address, std::uint64_t step) {
    const std::uint64_t start = address[0];
    std::uint64_t wrong = 0;
    for (std::uint64_t lane = 0; lane < kLanes; ++lane) wrong |= address[lane] ^ (start + lane * step);
    return wrong == 0;
}

HIPSCOPE_WIDEST bool all_ascending(const std::uint64_t* address, std::uint64_t bytes) {
    unsigned wrong = 0;
    for (int lane = 1; lane < kLanes; ++lane) wrong |= static_cast<unsigned>(address[lane] < address[lane - 1] + bytes);
    return wrong == 0;
}

HIPSCOPE_WIDEST Shape shape_of_all(const std::uint64_t* address) {
    Shape shape{false, 0, {address[0], address[0]}};
    for (int lane = 0; lane < kLanes; ++lane) {
        shape.bits |= address[lane];
        shape.span.lowest = std::min(shape.span.lowest, address[lane]);
        shape.span.highest = std::max(shape.span.highest, address[lane]);
    }
    return shape;
}

HIPSCOPE_WIDEST Shape shape_of_lanes(const std::uint64_t* address, std::uint64_t lanes) {
    const std::uint64_t first = address[std::countr_zero(lanes)];
    Shape shape{false, first, {first, first}};
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        const std::uint64_t at = ((lanes >> lane) & 1U) != 0 ? address[lane] : first;
        shape.bits |= at;
        shape.span.lowest = std::min(shape.span.lowest, at);
        shape.span.highest = std::max(shape.span.highest, at);
    }
    return shape;
}

}  // namespace

bool ascending(const std::uint64_t* address, std::uint64_t lanes, std::uint64_t bytes) {
    if (lanes == ~std::uint64_t{0}) return all_ascending(address, bytes);
    std::uint64_t end = 0;
    for (std::uint64_t rest = lanes; rest != 0; rest &= rest - 1) {
        const std::uint64_t start = address[std::countr_zero(rest)];
        if (start < end) return false;
        end = start + bytes;
    }
    return true;
}

bool is_row(const MemoryAccess& made, int which) {
    const std::uint64_t* address = made.address[which];
    return made.lanes == ~std::uint64_t{0} && address[1] - address[0] == made.bytes && evenly_spaced(address, made.bytes);
}

HIPSCOPE_WIDEST void spell_out(MemoryAccess& made) {
    if (made.teams) return made.spell_out();
    if (!made.run) return;
    made.run = false;
    for (int which = 0; which < made.addresses; ++which) {
        const std::uint64_t start = made.address[which][0];
        for (std::uint64_t lane = 0; lane < kLanes; ++lane) made.address[which][lane] = start + lane * made.bytes;
    }
}

HIPSCOPE_WIDEST std::uint64_t bits_in_addresses(const std::uint64_t* address, std::uint64_t lanes) {
    std::uint64_t bits = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) bits |= address[lane] & (0 - ((lanes >> lane) & 1U));
    return bits;
}

Shape shape_of(const MemoryAccess& made, bool run) {
    const std::uint64_t* address = made.address[0];
    if (run || is_row(made, 0)) return {true, address[0], {address[0], address[kLanes - 1]}};
    if (std::has_single_bit(made.lanes)) {
        const std::uint64_t only = address[std::countr_zero(made.lanes)];
        return {false, only, {only, only}};
    }
    return made.lanes == ~std::uint64_t{0} ? shape_of_all(address) : shape_of_lanes(address, made.lanes);
}

}  // namespace hipscope::sanitize
