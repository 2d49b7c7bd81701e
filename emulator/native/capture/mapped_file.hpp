// A file as memory.
#pragma once

#include <array>
#include <cstdint>
#include <string>
#include <string_view>

namespace hipscope {

/// Device, number, size and time of the last change: they show whether a file is still the one that was read.
using FileIdentity = std::array<std::uint64_t, 5>;

/// Throws std::runtime_error naming the file.
FileIdentity identity_of(const std::string& path);

/// The bytes of a file, mapped for reading.
class MappedFile {
public:
    /// Throws std::runtime_error naming the file.
    explicit MappedFile(const std::string& path);
    /// What the zstd frames of a packed file hold, in a file that lives in memory alone. It must be `bytes` long.
    /// Throws std::runtime_error naming the packed file.
    static MappedFile unpacked(const std::string& path, std::uint64_t bytes);
    ~MappedFile();
    MappedFile(MappedFile&& other) noexcept;
    MappedFile(const MappedFile&) = delete;
    MappedFile& operator=(const MappedFile&) = delete;
    MappedFile& operator=(MappedFile&&) = delete;

    [[nodiscard]] std::string_view bytes() const { return {data_, size_}; }
    /// Make memory at `address` hold the file's bytes. Whole pages are shared with the file until the first write to them,
    /// so the range must be mapped memory of this process. What is written never reaches the file. Says how many bytes are shared.
    std::size_t place_at(std::uint64_t address) const;

private:
    MappedFile() = default;

    char* data_ = nullptr;
    std::size_t size_ = 0;
    int file_ = -1;
};

}  // namespace hipscope
