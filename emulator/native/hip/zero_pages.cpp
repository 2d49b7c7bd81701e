#include "hip/zero_pages.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>
#include <cstring>
#include <fstream>
#include <sstream>
#include <string>

namespace hipscope {
namespace {

constexpr std::size_t kLeast = 1ULL << 30U;

/// Whether all of [start, end) is mapped, to no file and for this process alone. The system is asked: blocks may have been mapped to
/// files since they were made, for other processes or at several addresses.
bool private_and_anonymous(std::uint64_t start, std::uint64_t end) {
    std::ifstream maps("/proc/self/maps");
    std::string line;
    while (start < end && std::getline(maps, line)) {
        std::istringstream fields(line);
        std::uint64_t from = 0, to = 0, inode = 0;
        char dash = 0;
        std::string rights, offset, device;
        fields >> std::hex >> from >> dash >> to >> rights >> offset >> device >> std::dec >> inode;
        if (!fields || to <= start) continue;
        if (from > start || rights.size() != 4 || rights[3] != 'p' || inode != 0) return false;
        start = to;
    }
    return start >= end;
}

}  // namespace

bool zeroed_by_giving_back(void* to, std::size_t bytes) {
    if (bytes < kLeast) return false;
    static const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const auto start = reinterpret_cast<std::uint64_t>(to), end = start + bytes;
    const std::uint64_t first = (start + page - 1) / page * page, last = end / page * page;
    if (!private_and_anonymous(first, last)) return false;
    if (madvise(reinterpret_cast<void*>(first), last - first, MADV_DONTNEED) != 0) return false;  // NOLINT(performance-no-int-to-ptr)
    std::memset(to, 0, first - start);
    std::memset(reinterpret_cast<void*>(last), 0, end - last);  // NOLINT(performance-no-int-to-ptr)
    return true;
}

}  // namespace hipscope
