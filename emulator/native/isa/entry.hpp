// One row of the instruction table: what the decoder must know about a mnemonic, and the handler that executes it.
// In: nothing. Out: plain data. The rows themselves are in the files of this folder, one per family of the manual.
#pragma once

#include <array>
#include <cstdint>
#include <span>
#include <string_view>

#include "core/instruction.hpp"

namespace hipscope::isa {

/// What an operand holds; decides how constants are widened and which modifiers mean what.
enum class Type : std::uint8_t { none, b32, b64, i64, f32, f64, b16, f16, mask, pk16, pk_f16, pk_f32, mix, wide };

inline constexpr std::size_t signed_forms = 8;

struct Entry {
    std::string_view name;          // without _e32/_e64/_sdwa/_dpp
    Unit unit = Unit::internal;
    Handler run = nullptr;
    std::uint8_t destinations = 0;
    std::uint8_t sources = 0;       // as executed, an accumulated destination included
    std::array<Type, 5> source{};
    bool accumulates = false;       // the destination is also the last source
    bool returns = false;           // atomics: sc0 adds a destination
    bool keeps_high = false;        // 16-bit result that leaves the other half alone
    bool float_result = false;      // clamp means [0, 1], not the limits of an integer
    bool mask_result = false;       // a bit for each lane: no clamp, and SDWA selects no part of the destination
    bool reads_vcc = false;         // VCC is a source beside those in the text
    bool truth_table = false;       // the fields of sign and output modifiers hold the function's table (v_bitop3)
    bool data_format = false;       // the instruction holds the format of memory (MTBUF, 13.6)
    bool upper_half = false;        // the result goes to the upper half of the register
    bool all_waves = false;         // global wave sync: the gds bit is part of the instruction
    std::uint32_t extra = 0;
    std::uint8_t passes = 1;
    /// Handlers for plain operands: bit k of the index says that source k is an SGPR or a constant. From `signed_forms` on,
    /// floats may be negated or absolute. nullptr: `run` does it.
    std::array<Handler, 2 * signed_forms> forms{};

    // Options of a table row, chained after the row's constructor.
    [[nodiscard]] constexpr Entry accumulate() const { Entry e = *this; e.accumulates = true; return e; }
    [[nodiscard]] constexpr Entry keep_high() const { Entry e = *this; e.keeps_high = true; return e; }
    [[nodiscard]] constexpr Entry to_upper_half() const { Entry e = *this; e.upper_half = true; return e; }
    [[nodiscard]] constexpr Entry of_truth_table() const { Entry e = *this; e.truth_table = true; return e; }
    [[nodiscard]] constexpr Entry of_all_waves() const { Entry e = *this; e.all_waves = true; return e; }
    [[nodiscard]] constexpr Entry with(std::uint32_t value) const { Entry e = *this; e.extra = value; return e; }
};

using Table = std::span<const Entry>;

}  // namespace hipscope::isa
