// Maps files.
#include "capture/mapped_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstring>
#include <stdexcept>
#include <utility>

#include "capture/frames.hpp"

namespace hipscope {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::size_t kWorthMapping = 1U << 18U;  // below, a copy is quicker than changing the map of the process

}  // namespace

FileIdentity identity_of(const std::string& path) {
    struct stat status{};
    if (stat(path.c_str(), &status) != 0) throw std::runtime_error("cannot read '" + path + "'");
    return {status.st_dev, status.st_ino, static_cast<std::uint64_t>(status.st_size), static_cast<std::uint64_t>(status.st_mtim.tv_sec),
            static_cast<std::uint64_t>(status.st_mtim.tv_nsec)};
}

MappedFile::MappedFile(const std::string& path) : file_(open(path.c_str(), O_RDONLY | O_CLOEXEC)) {
    struct stat status{};
    if (file_ < 0 || fstat(file_, &status) != 0) {
        if (file_ >= 0) close(file_);
        throw std::runtime_error("cannot read '" + path + "'");
    }
    size_ = static_cast<std::size_t>(status.st_size);
    if (size_ == 0) return;
    void* mapped = mmap(nullptr, size_, PROT_READ, MAP_PRIVATE, file_, 0);
    if (mapped == MAP_FAILED) {
        close(file_);
        throw std::runtime_error("cannot map '" + path + "'");
    }
    data_ = static_cast<char*>(mapped);
}

MappedFile MappedFile::unpacked(const std::string& path, std::uint64_t bytes) {
    const MappedFile packed(path);
    MappedFile content;
    try {
        if (unpacked_bytes(packed.bytes()) != bytes) throw std::runtime_error("does not hold the " + std::to_string(bytes) + " bytes that were recorded");
    } catch (const std::runtime_error& error) {
        throw std::runtime_error("'" + path + "' " + error.what());
    }
    content.size_ = bytes;
    if (bytes == 0) return content;
    content.file_ = memfd_create("hipscope-capture", MFD_CLOEXEC);
    const bool room = content.file_ >= 0 && ftruncate(content.file_, static_cast<off_t>(bytes)) == 0;
    void* mapped = room ? mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, content.file_, 0) : MAP_FAILED;
    if (mapped == MAP_FAILED) throw std::runtime_error("no memory for the content of '" + path + "'");
    content.data_ = static_cast<char*>(mapped);
    try {
        unpack(packed.bytes(), content.data_);
    } catch (const std::runtime_error& error) {
        throw std::runtime_error("'" + path + "' " + error.what());
    }
    return content;
}

MappedFile::~MappedFile() {
    if (data_ != nullptr) munmap(data_, size_);
    if (file_ >= 0) close(file_);
}

MappedFile::MappedFile(MappedFile&& other) noexcept
    : data_(std::exchange(other.data_, nullptr)), size_(std::exchange(other.size_, 0)), file_(std::exchange(other.file_, -1)) {}

std::size_t MappedFile::place_at(std::uint64_t address) const {
    auto* const to = reinterpret_cast<char*>(address);  // NOLINT(performance-no-int-to-ptr): device pointers are host pointers
    std::size_t mapped = 0;
    if (address % kPage == 0 && size_ >= kWorthMapping) {
        mapped = size_ / kPage * kPage;  // the rest of the last page may belong to another buffer
        if (mmap(to, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_FIXED | MAP_NORESERVE, file_, 0) == MAP_FAILED)
            throw std::runtime_error("cannot map the captured memory");
    }
    if (size_ > mapped) std::memcpy(to + mapped, data_ + mapped, size_ - mapped);
    return mapped;
}

}  // namespace hipscope
