// What an instruction reads and writes in the register files, worked out from its decoded operands.
// In: an instruction. Out: its Flow, which the check for uninitialised reads consults before it executes the instruction.
#pragma once

#include <array>
#include <cstdint>
#include <string_view>

#include "core/instruction.hpp"

namespace hipscope::sanitize {

/// A set of SGPRs, one bit each (numbers of Wave::sgpr).
struct ScalarSet {
    std::array<std::uint64_t, 2> word{};

    void add(unsigned first, unsigned count) {
        const auto below = [](unsigned end) { return end >= 64 ? ~std::uint64_t{0} : (std::uint64_t{1} << end) - 1; };  // of one word
        const unsigned end = first + count;
        word[0] |= below(end) & ~below(first);
        if (end > 64) word[1] |= below(end - 64) & ~below(first > 64 ? first - 64 : 0);
    }
    void add(const ScalarSet& other) {
        word[0] |= other.word[0];
        word[1] |= other.word[1];
    }
    void remove(const ScalarSet& other) {
        word[0] &= ~other.word[0];
        word[1] &= ~other.word[1];
    }
    void remove(unsigned i) { word[i >> 6U] &= ~(std::uint64_t{1} << (i & 63U)); }
    [[nodiscard]] bool has(unsigned i) const { return ((word[i >> 6U] >> (i & 63U)) & 1U) != 0; }
    [[nodiscard]] bool meets(const ScalarSet& other) const { return ((word[0] & other.word[0]) | (word[1] & other.word[1])) != 0; }
    [[nodiscard]] bool empty() const { return (word[0] | word[1]) == 0; }
};

/// VGPR rows (accumulators from 256 on) that follow each other.
struct RowRange {
    std::uint16_t first = 0;
    std::uint16_t count = 0;
};

enum class FlowKind : std::uint8_t {
    unknown,       // not worked out yet
    none,          // no register is read or written that matters here
    compute,       // registers to registers, whatever the unit
    copy,          // the same, whole registers without change: their bits keep their places
    memory,        // `read` is the address, `data` what is stored
    branch_scc,    // the next instruction depends on SCC
    branch_vcc,    // ... on VCC being zero
    branch_to,     // ... on an address in SGPRs
    index,         // registers are chosen by a value
};

/// Which lanes of its VGPR sources an instruction looks at.
enum class Reach : std::uint8_t { active, first_active, chosen, all };

struct Flow {
    FlowKind kind = FlowKind::unknown;
    Reach reach = Reach::active;
    bool reads_scc = false;
    bool shuffles = false;            // each lane takes a value from the lane that it names
    bool wide_sum = false;            // a product and an addend of 64 bits, which compilers may give with an undefined upper half
    // Of memory instructions.
    bool sign = false;                // a byte or short is sign-extended
    bool half = false, high = false;  // ... goes to or comes from a half of the register, the upper one
    bool opaque = false;              // a format conversion
    bool to_lds = false;              // the loaded value goes straight to LDS
    bool swaps = false;               // an atomic exchange: what was there does not decide what is stored
    std::uint8_t reads = 0, writes = 0, data_count = 0;
    std::array<RowRange, 6> read{};
    std::array<RowRange, 3> write{};
    std::array<std::uint8_t, 2> data{};  // operands
    ScalarSet scalar_read, scalar_write;
};

/// Without the suffix of its encoding.
std::string_view mnemonic_of(const Instruction& in);

/// `in` as it is; for an instruction under a register index, hand in the moved copy.
Flow flow_of(const Instruction& in);

}  // namespace hipscope::sanitize
