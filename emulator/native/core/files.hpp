// Reads and writes whole files, or says why it could not: a file that a full disk cut short must never be taken for a result.
#pragma once

#include <stdexcept>
#include <string>
#include <string_view>

namespace hipscope {

/// What was to be kept could not be, as on a full disk: no verdict on the data itself.
class CannotWrite : public std::runtime_error {
public:
    CannotWrite(const std::string& path, const std::string& reason) : std::runtime_error("cannot write '" + path + "': " + reason) {}
};

/// The bytes of a file. Throws std::runtime_error naming it.
std::string read_file(const std::string& path);

/// Throws CannotWrite, naming the file and the system's reason; a file that was begun is removed.
void write_file(const std::string& path, std::string_view bytes);

/// As write_file, but a part of the file is never visible under its name.
void replace_file(const std::string& path, std::string_view bytes);

}  // namespace hipscope
