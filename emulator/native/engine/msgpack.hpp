// Reads the MessagePack document of an AMDGPU metadata note into a small value tree.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hipscope::msgpack {

struct Value {
    enum class Kind : std::uint8_t { nil, boolean, integer, text, array, map } kind = Kind::nil;
    std::int64_t integer = 0;  // booleans too
    std::string text;
    std::vector<Value> items;       // of an array, or the values of a map
    std::vector<std::string> keys;  // of a map

    /// The field of that name; a nil value when there is none.
    [[nodiscard]] const Value& operator[](std::string_view name) const;
};

/// Throws std::runtime_error on a truncated or unknown encoding.
Value parse(std::string_view bytes);

}  // namespace hipscope::msgpack
