// Loops over 64 addresses.
#include "sanitize/lanes.hpp"

#include <algorithm>
#include <bit>

#include "core/widest.hpp"

namespace hipscope::sanitize {
namespace {

HIPSCOPE_WIDEST bool all_ascending(const std::uint64_t* address, std::uint64_t bytes) {
    unsigned wrong = 0;
    for (int lane = 1; lane < kLanes; ++lane) wrong |= static_cast<unsigned>(address[lane] < address[lane - 1] + bytes);
    return wrong == 0;
}

HIPSCOPE_WIDEST void see_all(const std::uint64_t* address, Shape& shape) {
    shape.span = {address[0], address[0]};
    for (int lane = 0; lane < kLanes; ++lane) {
        shape.bits |= address[lane];
        shape.span.lowest = std::min(shape.span.lowest, address[lane]);
        shape.span.highest = std::max(shape.span.highest, address[lane]);
    }
}

HIPSCOPE_WIDEST void see_lanes(const std::uint64_t* address, std::uint64_t lanes, Shape& shape) {
    const std::uint64_t first = address[std::countr_zero(lanes)];
    shape.bits = first;
    shape.span = {first, first};
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        const std::uint64_t at = ((lanes >> lane) & 1U) != 0 ? address[lane] : first;
        shape.bits |= at;
        shape.span.lowest = std::min(shape.span.lowest, at);
        shape.span.highest = std::max(shape.span.highest, at);
    }
}

HIPSCOPE_WIDEST void spell_out_run(MemoryAccess& made) {
    made.run = false;
    for (int which = 0; which < made.addresses; ++which) {
        const std::uint64_t start = made.address[which][0];
        for (std::uint64_t lane = 0; lane < kLanes; ++lane) made.address[which][lane] = start + lane * made.bytes;
    }
}

/// For each team, whether its addresses are evenly spaced by the distance of the first two: a bit.
HIPSCOPE_WIDEST unsigned even_teams(const std::uint64_t* address) {
    unsigned even = 0;
    for (unsigned t = 0; t < kTeams; ++t) {
        const std::uint64_t* team = address + std::size_t{t} * kTeam;
        const std::uint64_t start = team[0], step = team[1] - team[0];
        std::uint64_t wrong = 0;
        for (std::uint64_t i = 0; i < kTeam; ++i) wrong |= team[i] ^ (start + i * step);
        even |= static_cast<unsigned>(wrong == 0) << t;
    }
    return even;
}

/// Adds one of a lane's addresses to the pieces. False when some of it is no piece.
bool add_pieces(const MemoryAccess& made, int which, bool run, bool teams, Shape& shape) {
    constexpr std::uint64_t whole_team = (1U << kTeam) - 1;
    const bool writes = made.kind != AccessKind::load;
    const std::size_t first = shape.pieces;
    const std::uint64_t* address = made.address[which];
    if (run || std::has_single_bit(made.lanes)) {
        const auto lane = static_cast<std::uint8_t>(std::countr_zero(made.lanes));
        shape.piece[shape.pieces++] = {address[lane], std::uint32_t{made.bytes} * (run ? kLanes : 1U), lane, !run};
        return true;
    }
    for (unsigned t = 0; t < kTeams; ++t) {
        const std::uint64_t lanes = made.lanes >> (t * kTeam) & whole_team;
        if (lanes != 0 && lanes != whole_team) return false;
    }
    const unsigned even = teams ? (1U << kTeams) - 1 : even_teams(address);
    for (unsigned t = 0; t < kTeams; ++t) {
        if ((made.lanes >> (t * kTeam) & 1U) == 0) continue;
        const std::uint64_t* team = address + std::size_t{t} * kTeam;
        const std::uint64_t step = team[1] - team[0];
        if (((even >> t) & 1U) == 0 || (step != made.bytes && (step != 0 || writes))) return false;
        const Piece piece{team[0], made.bytes * (step == 0 ? 1U : static_cast<std::uint32_t>(kTeam)), static_cast<std::uint8_t>(t * kTeam), step == 0};
        Piece* last = shape.pieces == first ? nullptr : &shape.piece[shape.pieces - 1];
        if (last != nullptr && writes && piece.address < last->address + last->bytes) return false;
        if (last != nullptr && !writes && last->address == piece.address && last->bytes == piece.bytes) continue;  // what `last` has seen
        const bool goes_on = last != nullptr && !piece.shared && !last->shared && last->address + last->bytes == piece.address &&
                             last->lane + last->bytes / made.bytes == piece.lane;
        if (goes_on) last->bytes += piece.bytes;
        else shape.piece[shape.pieces++] = piece;
    }
    return true;
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

HIPSCOPE_WIDEST std::uint64_t bits_in_addresses(const std::uint64_t* address, std::uint64_t lanes) {
    std::uint64_t bits = 0;
    for (unsigned lane = 0; lane < kLanes; ++lane) bits |= address[lane] & (0 - ((lanes >> lane) & 1U));
    return bits;
}

/// What lies in pieces, told by them.
void see_pieces(const MemoryAccess& made, std::size_t of_first, Shape& shape) {
    shape.span = {shape.piece[0].address, shape.piece[0].address};
    for (std::size_t p = 0; p < shape.pieces; ++p) {
        const Piece& piece = shape.piece[p];
        shape.bits |= piece.address | (piece.shared ? 0U : made.bytes);
        if (p >= of_first) continue;
        shape.span.lowest = std::min(shape.span.lowest, piece.address);
        shape.span.highest = std::max(shape.span.highest, piece.address + piece.bytes - made.bytes);
    }
}

Shape spell_out(MemoryAccess& made) {
    Shape shape;
    if (made.space == Space::none || made.lanes == 0) return shape;
    const bool run = made.run, teams = made.teams;
    if (run) spell_out_run(made);
    else if (teams) made.spell_out();
    std::size_t of_first = 0;
    bool whole = made.space != Space::scratch;
    for (int which = 0; which < made.addresses && whole; ++which) {
        whole = add_pieces(made, which, run, teams, shape);
        if (which == 0) of_first = shape.pieces;
    }
    if (whole) {
        see_pieces(made, of_first, shape);
        return shape;
    }
    shape.pieces = 0;
    if (made.lanes == ~std::uint64_t{0}) see_all(made.address[0], shape);
    else see_lanes(made.address[0], made.lanes, shape);
    if (made.addresses == 2) shape.bits |= bits_in_addresses(made.address[1], made.lanes);
    return shape;
}

}  // namespace hipscope::sanitize
