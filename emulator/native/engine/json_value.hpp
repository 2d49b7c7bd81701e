// Reads JSON text into the same value tree as the metadata reader.
#pragma once

#include <string_view>

#include "engine/msgpack.hpp"

namespace hipscope {

/// Throws std::runtime_error. Numbers with a fraction are cut to whole ones: our own files have none that matter.
msgpack::Value parse_json(std::string_view text);

}  // namespace hipscope
