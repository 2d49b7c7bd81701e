// Files in memory.
#include "core/memory_file.hpp"

#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <stdexcept>

namespace hipscope {

MemoryFile::MemoryFile(std::string_view content, const char* what) : descriptor_(memfd_create("hipscope", MFD_CLOEXEC)) {
    if (descriptor_ < 0) throw std::runtime_error("cannot make a file in memory for " + std::string(what));
    std::size_t written = 0;
    while (written < content.size()) {
        const ssize_t n = write(descriptor_, content.data() + written, content.size() - written);
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) break;
        written += static_cast<std::size_t>(n);
    }
    if (written != content.size() || lseek(descriptor_, 0, SEEK_SET) != 0) {
        close(descriptor_);
        throw std::runtime_error("no memory left for a copy of " + std::string(what));
    }
}

MemoryFile::~MemoryFile() { close(descriptor_); }

std::string MemoryFile::path() const { return "/proc/self/fd/" + std::to_string(descriptor_); }

std::string MemoryFile::content() const {
    struct stat status = {};
    if (fstat(descriptor_, &status) != 0) throw std::runtime_error("cannot read a file in memory");
    std::string bytes(static_cast<std::size_t>(status.st_size), '\0');
    std::size_t got = 0;
    while (got < bytes.size()) {
        const ssize_t n = pread(descriptor_, bytes.data() + got, bytes.size() - got, static_cast<off_t>(got));
        if (n < 0 && errno == EINTR) continue;
        if (n <= 0) throw std::runtime_error("cannot read a file in memory");
        got += static_cast<std::size_t>(n);
    }
    return bytes;
}

}  // namespace hipscope
