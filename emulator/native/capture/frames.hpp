// Contents as zstd frames (RFC 8878) of at most kFrameBytes each, every one with its content size in its header, so that
// several threads can unpack them and a damaged header cannot ask for more memory than a frame may take.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hipscope {

inline constexpr std::size_t kFrameBytes = 1U << 20U;

/// The content in frames.
std::string pack(std::string_view content);

/// What the frames hold together, in bytes. Throws std::runtime_error when they are not such frames.
std::uint64_t unpacked_bytes(std::string_view packed);

/// Write the content to `to`, which has room for unpacked_bytes(packed). Throws std::runtime_error.
void unpack(std::string_view packed, char* to);

}  // namespace hipscope
