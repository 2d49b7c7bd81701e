// The file `checksums` of a captured dispatch: format, version, and CRC-32 and size of every other file.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>

namespace hipscope {

/// CRC-32 as zlib and gzip compute it (RFC 1952).
std::uint32_t crc32(std::string_view bytes);

/// Write `checksums` over the files of the folder, with `meta` for the meta.json that follows. Throws std::runtime_error.
void write_checksums(const std::string& folder, std::string_view meta);

/// What `checksums` says; every read of a captured file goes through it.
class Checksums {
public:
    Checksums() = default;
    /// Throws std::runtime_error when the folder is no capture, or one of another version.
    explicit Checksums(std::string folder);
    /// The contents of a file. Throws std::runtime_error naming it when it is not what was recorded.
    [[nodiscard]] std::string read(const std::string& name) const;

private:
    struct Entry {
        std::uint32_t crc = 0;
        std::uint64_t bytes = 0;
    };
    std::string folder_;
    std::map<std::string, Entry> entries_;
};

/// The bytes of a file. Throws std::runtime_error naming it.
std::string read_file(const std::string& path);

}  // namespace hipscope
