// Files in whole.
#include "core/files.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>

namespace hipscope {
namespace {

[[noreturn]] void cannot_write(const std::string& path, int error) {
    throw CannotWrite(path, std::strerror(error));
}

bool write_all(int file, std::string_view bytes) {
    while (!bytes.empty()) {
        const ssize_t written = ::write(file, bytes.data(), bytes.size());
        if (written < 0 && errno == EINTR) continue;
        if (written < 0) return false;
        bytes.remove_prefix(static_cast<std::size_t>(written));
    }
    return true;
}

}  // namespace

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary | std::ios::ate);
    if (!file) throw std::runtime_error("cannot read '" + path + "'");
    std::string content(static_cast<std::size_t>(file.tellg()), '\0');
    file.seekg(0);
    file.read(content.data(), static_cast<std::streamsize>(content.size()));
    content.resize(static_cast<std::size_t>(file.gcount()));  // shorter if the file was just cut
    return content;
}

void write_file(const std::string& path, std::string_view bytes) {
    const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    if (file < 0) cannot_write(path, errno);
    const bool written = write_all(file, bytes);
    const int error = errno;
    const bool closed = ::close(file) == 0;  // network file systems report a full disk here
    if (written && closed) return;
    const int reason = written ? errno : error;
    ::unlink(path.c_str());
    cannot_write(path, reason);
}

void replace_file(const std::string& path, std::string_view bytes) {
    const std::string part = path + ".part";
    write_file(part, bytes);
    if (std::rename(part.c_str(), path.c_str()) == 0) return;
    const int error = errno;
    ::unlink(part.c_str());
    cannot_write(path, error);
}

}  // namespace hipscope
