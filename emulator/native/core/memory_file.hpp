// A file in memory, for other programs to read or write: nothing is left of it however this process ends.
#pragma once

#include <string>
#include <string_view>

namespace hipscope {

class MemoryFile {
public:
    /// Holds `content`, to be read from its start. `what` names it where that fails. Throws std::runtime_error.
    explicit MemoryFile(std::string_view content = {}, const char* what = "a file");
    ~MemoryFile();
    MemoryFile(const MemoryFile&) = delete;
    MemoryFile& operator=(const MemoryFile&) = delete;

    int descriptor() const { return descriptor_; }
    /// Its name for a child process that has the descriptor under the same number.
    std::string path() const;
    /// All that has been written to it.
    std::string content() const;

private:
    int descriptor_;
};

}  // namespace hipscope
