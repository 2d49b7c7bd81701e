// A buffer as the few parts of it that matter: what a run changed, or where it accessed memory. Most of a large buffer is
// left alone by most launches, so a replay writes parts instead of buffers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace hipscope {

inline constexpr std::size_t kRunBytes = 4096;  // runs start at multiples of this and end there or with the buffer

/// Bytes from `offset` on.
struct Run {
    std::size_t offset = 0;
    std::string_view bytes;
};

/// The blocks of `now` that differ from `before` (of the same size), neighbours together. `written` says of as many blocks as
/// it has whether they can differ at all; `replaced` holds whole blocks that stood in place of those of `before`.
std::vector<Run> different_runs(std::string_view before, std::string_view now, const std::vector<bool>& written = {},
                                const std::vector<Run>& replaced = {});

/// Put whole blocks of a buffer in place. Throws std::runtime_error when they are not blocks of it.
void place_runs(const std::vector<Run>& runs, char* data, std::size_t bytes);

/// Write each run as its offset and size (64-bit, little-endian) and its bytes. Throws std::runtime_error.
void write_runs(const std::string& path, const std::vector<Run>& runs);

/// The runs in a file's contents, which must stay while they are used. Throws std::runtime_error.
std::vector<Run> read_runs(std::string_view content);

}  // namespace hipscope
