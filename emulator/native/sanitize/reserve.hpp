// Address space for tables over all of device memory, which costs nothing until it is touched.
#pragma once

#include <sys/mman.h>

#include <cstdint>
#include <stdexcept>
#include <string>

namespace hipscope::sanitize {

/// Zeros. `what` needs them: a word for the message of the exception when there is no room.
inline void* reserve(std::uint64_t bytes, const char* what) {
    void* at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (at == MAP_FAILED) throw std::runtime_error(std::string("no address space left for ") + what + "; the sanitizers need all of the device's range: ulimit -v unlimited");
    madvise(at, bytes, MADV_DONTDUMP);
    return at;
}

}  // namespace hipscope::sanitize
