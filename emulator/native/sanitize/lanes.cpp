// Loops over 64 addresses.
#include "sanitize/lanes.hpp"

#include "core/widest.hpp"

namespace hipscope::sanitize {
namespace {

HIPSCOPE_WIDEST bool evenly_spaced(const std::uint64_t* address, std::uint64_t step) {
    const std::uint64_t start = address[0];
    std::uint64_t wrong = 0;
    for (std::uint64_t lane = 0; lane < kLanes; ++lane) wrong |= address[lane] ^ (start + lane * step);
    return wrong == 0;
}

}  // namespace

bool is_row(const MemoryAccess& made, int which) { return made.lanes == ~std::uint64_t{0} && evenly_spaced(made.address[which], made.bytes); }

HIPSCOPE_WIDEST bool any_within(const std::uint64_t* address, std::uint64_t start, std::uint64_t bytes) {
    unsigned any = 0;
    for (int lane = 0; lane < kLanes; ++lane) any |= static_cast<unsigned>(address[lane] - start < bytes);
    return any != 0;
}

HIPSCOPE_WIDEST void spell_out(MemoryAccess& made) {
    if (!made.run) return;
    made.run = false;
    for (int which = 0; which < made.addresses; ++which) {
        const std::uint64_t start = made.address[which][0];
        for (std::uint64_t lane = 0; lane < kLanes; ++lane) made.address[which][lane] = start + lane * made.bytes;
    }
}

HIPSCOPE_WIDEST std::uint64_t bits_in_addresses(const std::uint64_t* address) {
    std::uint64_t bits = 0;
    for (int lane = 0; lane < kLanes; ++lane) bits |= address[lane];
    return bits;
}

}  // namespace hipscope::sanitize
