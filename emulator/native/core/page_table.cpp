// Reads /proc/self/pagemap (Documentation/admin-guide/mm/pagemap.rst of Linux).
#include "core/page_table.hpp"

#include <fcntl.h>
#include <unistd.h>

#include <cstdint>

namespace hipscope {
namespace {

constexpr std::size_t kPage = 4096;
constexpr std::uint64_t kPresent = 1ULL << 63U, kSwapped = 1ULL << 62U, kOfFile = 1ULL << 61U;

}  // namespace

std::vector<bool> written_pages(const char* data, std::size_t bytes) {
    const std::size_t pages = bytes / kPage;
    if (pages == 0 || sysconf(_SC_PAGESIZE) != static_cast<long>(kPage)) return {};
    const int file = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);
    if (file < 0) return {};
    std::vector<std::uint64_t> entries(pages);
    const std::size_t wanted = pages * sizeof entries[0];
    std::size_t done = 0;
    while (done < wanted) {
        const auto at = static_cast<off_t>(reinterpret_cast<std::uintptr_t>(data) / kPage * sizeof entries[0] + done);
        const ssize_t count = pread(file, reinterpret_cast<char*>(entries.data()) + done, wanted - done, at);
        if (count <= 0) break;
        done += static_cast<std::size_t>(count);
    }
    close(file);
    if (done < wanted) return {};
    std::vector<bool> written(pages);
    // A page that was written to is a copy of this process alone, in memory or swapped out.
    for (std::size_t i = 0; i < pages; ++i)
        written[i] = (entries[i] & (kPresent | kSwapped)) != 0 && (entries[i] & kOfFile) == 0;
    return written;
}

}  // namespace hipscope
