// The files of a captured dispatch and the file `checksums` that describes each of them: format, version, and
// CRC-32 and size of every content. A file whose name ends in ".zst" is packed (capture/frames.hpp).
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "capture/mapped_file.hpp"

namespace hipscope {

/// CRC-32 as zlib and gzip compute it (RFC 1952).
std::uint32_t crc32(std::string_view bytes);

/// Writes a captured dispatch, file by file.
class DispatchWriter {
public:
    DispatchWriter() = default;
    /// Makes the folder. Throws std::runtime_error.
    explicit DispatchWriter(std::string folder);
    /// A file with this content. Throws std::runtime_error naming it, as the other functions do.
    void add(const std::string& name, std::string_view content);
    /// The same for memory: packed, under a name with ".zst", where that saves much.
    void add_memory(const std::string& name, std::string_view content);
    /// Write `checksums` and, last of all, meta.json.
    void seal(std::string_view meta);

private:
    void note(const std::string& name, std::string_view content);

    std::string folder_;
    std::map<std::string, std::string> lines_;  // of `checksums`, by name
};

/// What `checksums` says; every read of a captured file goes through it.
class Checksums {
public:
    Checksums() = default;
    /// Throws std::runtime_error when the folder is no capture, or one of another version.
    explicit Checksums(std::string folder);
    /// The contents of a file, packed or not. Throws std::runtime_error naming it when it is not what was recorded.
    [[nodiscard]] std::string read(const std::string& name) const;
    /// The same, mapped. A file is looked through, and unpacked, once in the life of this process and of those that it
    /// forks.
    [[nodiscard]] std::shared_ptr<const MappedFile> map(const std::string& name) const;
    /// Look through all files of which `map` is asked for in a replay.
    void check_buffers() const;

private:
    struct Entry {
        std::uint32_t crc = 0;
        std::uint64_t bytes = 0;
    };
    using Entries = std::map<std::string, Entry>;
    /// The entry of a file, by its name on disk or by that without ".zst".
    const Entries::value_type& entry(const std::string& name) const;
    [[nodiscard]] MappedFile open(const Entries::value_type& entry) const;
    void check(const Entries::value_type& entry, std::string_view content) const;

    std::string folder_;
    Entries entries_;
};

}  // namespace hipscope
