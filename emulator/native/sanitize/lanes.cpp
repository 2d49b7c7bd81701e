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
    for (int lane = 0; lane < kLanes; ++lane) {
        shape.bits |= address[lane];
        shape.span.lowest = std::min(shape.span.lowest, address[lane]);
        shape.span.highest = std::max(shape.span.highest, address[lane]);
    }
}

HIPSCOPE_WIDEST void see_lanes(const std::uint64_t* address, std::uint64_t lanes, Shape& shape) {
    const std::uint64_t first = address[std::countr_zero(lanes)];
    for (unsigned lane = 0; lane < kLanes; ++lane) {
        const std::uint64_t at = ((lanes >> lane) & 1U) != 0 ? address[lane] : first;
        shape.bits |= at;
        shape.span.lowest = std::min(shape.span.lowest, at);
        shape.span.highest = std::max(shape.span.highest, at);
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

/// The pieces of one of a lane's addresses, one team after the other.
class Pieces {
public:
    Pieces(const MemoryAccess& made, Shape& shape) : made_(made), shape_(shape), first_(shape.pieces), writes_(made.kind != AccessKind::load) {}

    /// False when the team at this address is no piece.
    bool add(unsigned team, std::uint64_t address, std::uint64_t step) {
        if (step != made_.bytes && (step != 0 || writes_)) return false;
        const auto lane = static_cast<std::uint8_t>(team * kTeam);
        const std::uint32_t bytes = made_.bytes * (step == 0 ? 1U : static_cast<std::uint32_t>(kTeam));
        if (shape_.pieces != first_) {
            Piece& last = shape_.piece[shape_.pieces - 1];
            if (writes_ && address < last.address + last.bytes) return false;
            if (!writes_ && last.address == address && last.bytes == bytes) return true;  // what `last` has seen
            if (step != 0 && !last.shared && last.address + last.bytes == address && last.bytes == (lane - last.lane) * std::uint32_t{made_.bytes}) {
                last.bytes += bytes;
                return true;
            }
        }
        shape_.piece[shape_.pieces++] = {address, bytes, lane, step == 0};
        return true;
    }

private:
    const MemoryAccess& made_;
    Shape& shape_;
    std::size_t first_;
    bool writes_;
};

/// Adds one of a lane's addresses to the pieces. False when some of it is no piece.
bool add_pieces(const MemoryAccess& made, int which, Shape& shape) {
    constexpr std::uint64_t whole_team = (1U << kTeam) - 1;
    const std::uint64_t* address = made.address[which];
    if (made.run || std::has_single_bit(made.lanes)) {
        const auto lane = static_cast<std::uint8_t>(std::countr_zero(made.lanes));
        shape.piece[shape.pieces++] = {made.run ? address[0] : made.at(static_cast<std::size_t>(which), lane), std::uint32_t{made.bytes} * (made.run ? kLanes : 1U), lane, !made.run};
        return true;
    }
    Pieces pieces(made, shape);
    if (made.teams) {
        for (unsigned t = 0; t < kTeams; ++t)
            if (!pieces.add(t, address[t], made.step[t])) return false;
        return true;
    }
    for (unsigned t = 0; t < kTeams; ++t) {
        const std::uint64_t lanes = made.lanes >> (t * kTeam) & whole_team;
        if (lanes != 0 && lanes != whole_team) return false;
    }
    const std::uint64_t* some = address + std::countr_zero(made.lanes);  // the first team shows most of those that are not even
    if (some[2] - some[1] != some[1] - some[0]) return false;
    const unsigned even = even_teams(address);
    for (unsigned t = 0; t < kTeams; ++t) {
        if ((made.lanes >> (t * kTeam) & 1U) == 0) continue;
        const std::uint64_t* team = address + std::size_t{t} * kTeam;
        if (((even >> t) & 1U) == 0 || !pieces.add(t, team[0], team[1] - team[0])) return false;
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

/// Addresses in pieces, described by them.
static void see_pieces(const MemoryAccess& made, Shape& shape) {
    shape.span = {shape.piece[0].address, shape.piece[0].address};
    for (std::size_t p = 0; p < shape.pieces; ++p) {
        const Piece& piece = shape.piece[p];
        shape.bits |= piece.address | (piece.shared ? 0U : made.bytes);
        shape.span.lowest = std::min(shape.span.lowest, piece.address);
        shape.span.highest = std::max(shape.span.highest, piece.address + piece.bytes - made.bytes);
    }
}

Shape shape_of(MemoryAccess& made, bool each_lane) {
    Shape shape;
    if (made.space == Space::none || made.lanes == 0) return shape;
    if (each_lane || made.space == Space::scratch || (made.kind != AccessKind::load && made.kind != AccessKind::store)) made.spell_out();
    bool whole = made.space != Space::scratch;
    for (int which = 0; which < made.addresses && whole; ++which) whole = add_pieces(made, which, shape);
    if (whole) {
        see_pieces(made, shape);
        return shape;
    }
    made.spell_out();
    shape.pieces = 0;
    shape.span = {~std::uint64_t{0}, 0};
    for (int which = 0; which < made.addresses; ++which) {
        if (made.lanes == ~std::uint64_t{0}) see_all(made.address[which], shape);
        else see_lanes(made.address[which], made.lanes, shape);
    }
    return shape;
}

}  // namespace hipscope::sanitize
