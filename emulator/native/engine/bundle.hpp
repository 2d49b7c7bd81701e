// Picks the code object for one GPU architecture out of what a compiler embeds in a program or writes to a file.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace hipscope {

/// The plain ELF for `arch` ("gfx942"; an entry with feature flags such as "gfx942:sramecc+:xnack-" also matches).
///
/// `data` starts with a clang offload bundle (plain or compressed) or is an ELF already; it may be longer than the
/// bundle. Throws std::runtime_error with one line that says what is there instead.
std::string extract_code_object(std::string_view data, std::string_view arch);

/// The bundle or ELF at `data`, an image whose length is not known to the caller. Empty when it is neither; never runs
/// past memory that can be read, whatever the image's headers say.
std::string_view image_bytes(const void* data);

/// Hash of the content as 16 hexadecimal digits (FNV-1a, 64 bits): names files, not a secret.
std::string content_hash(std::string_view data);

}  // namespace hipscope
