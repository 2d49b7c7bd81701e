// Takes memory that will certainly be written in one go, which costs a fraction of taking it page by page.
#pragma once

#include <sys/mman.h>
#include <unistd.h>

#include <cstdint>

namespace hipscope {

/// The pages of [start, end), in mapped memory. It only saves time: where the system cannot do it, nothing happens.
inline void populate(std::uint64_t start, std::uint64_t end) {
#ifdef MADV_POPULATE_WRITE
    static const auto page = static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
    const std::uint64_t first = start / page * page, last = (end + page - 1) / page * page;
    if (first < last) madvise(reinterpret_cast<void*>(first), last - first, MADV_POPULATE_WRITE);  // NOLINT(performance-no-int-to-ptr)
#else
    static_cast<void>(start);
    static_cast<void>(end);
#endif
}

}  // namespace hipscope
