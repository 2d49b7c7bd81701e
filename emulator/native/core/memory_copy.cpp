// Keeps and puts back the pages of device memory.
#include "core/memory_copy.hpp"

#include <sys/mman.h>

#include <algorithm>
#include <cstring>

#include "core/page_table.hpp"

namespace hipscope {
namespace {

constexpr std::uint64_t kPage = 4096;

char* pointer(std::uint64_t address) { return reinterpret_cast<char*>(address); }  // NOLINT(performance-no-int-to-ptr)

}  // namespace

std::optional<MemoryCopy> MemoryCopy::of(const Memory& memory) {
    MemoryCopy copy;
    for (const auto& [address, block] : memory.blocks()) {
        const std::uint64_t begin = address / kPage * kPage, end = (address + block.bytes + kPage - 1) / kPage * kPage;
        const std::vector<bool> written = written_pages(pointer(begin), end - begin);
        if (written.empty() && begin < end) return std::nullopt;
        for (auto page = written.begin(); page != written.end();) {
            const auto next = std::find(page, written.end(), !*page);
            const std::uint64_t from = begin + static_cast<std::uint64_t>(page - written.begin()) * kPage;
            const std::uint64_t bytes = static_cast<std::uint64_t>(next - page) * kPage;
            auto kept = *page ? std::make_unique_for_overwrite<std::byte[]>(bytes) : nullptr;
            if (kept) std::memcpy(kept.get(), pointer(from), bytes);
            copy.runs_.push_back({from, bytes, std::move(kept)});
            page = next;
        }
    }
    return copy;
}

void MemoryCopy::put_back() const {
    for (const Run& run : runs_) {
        if (run.kept)
            std::memcpy(pointer(run.address), run.kept.get(), run.bytes);
        else
            madvise(pointer(run.address), run.bytes, MADV_DONTNEED);  // private pages: they are read anew, from a file or as zeros
    }
}

}  // namespace hipscope
