// Looks at results on their way to the host. The type of the numbers is not known there: only the NaN that arithmetic makes
// counts, which as an integer hardly ever fills an array.
#include "hip/results.hpp"

#include <sys/mman.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <vector>

#include "core/page_table.hpp"

namespace hipscope {
namespace {

constexpr std::size_t kLeastBytes = 64;
constexpr std::size_t kGivenBack = 1ULL << 30U;  // larger blocks are filled with zeros by giving their pages back

template <class Bits>
bool every(const char* data, std::size_t bytes, Bits quiet, Bits sign) {
    if (bytes % sizeof(Bits) != 0) return false;
    for (std::size_t at = 0; at < bytes; at += sizeof(Bits)) {
        Bits bits = 0;
        std::memcpy(&bits, data + at, sizeof bits);
        if (static_cast<Bits>(bits & static_cast<Bits>(~sign)) != quiet) return false;
    }
    return true;
}

}  // namespace

bool never_written(const void* from, std::size_t bytes) {
    static const auto page = static_cast<std::uintptr_t>(sysconf(_SC_PAGESIZE));
    const auto address = reinterpret_cast<std::uintptr_t>(from);
    const std::uintptr_t first = address / page * page, last = (address + bytes + page - 1) / page * page;
    if (bytes < kLeastBytes || last - first >= kGivenBack) return false;
    std::vector<unsigned char> resident((last - first) / page);
    auto* const start = reinterpret_cast<char*>(first);  // NOLINT(performance-no-int-to-ptr)
    if (mincore(start, last - first, resident.data()) != 0) return false;
    if (std::any_of(resident.begin(), resident.end(), [](unsigned char in_memory) { return (in_memory & 1U) != 0; })) return false;
    const std::vector<bool> written = written_pages(start, last - first);  // what is swapped out was written, too
    return !written.empty() && std::find(written.begin(), written.end(), true) == written.end();
}

std::optional<std::string> all_nan(const char* data, std::size_t bytes) {
    if (bytes < kLeastBytes) return std::nullopt;
    if (every<std::uint32_t>(data, bytes, 0x7fc00000U, 1U << 31U)) return "float";
    if (every<std::uint64_t>(data, bytes, 0x7ff8ULL << 48U, 1ULL << 63U)) return "double";
    if (every<std::uint16_t>(data, bytes, 0x7e00U, 0x8000U)) return "half";
    if (every<std::uint16_t>(data, bytes, 0x7fc0U, 0x8000U)) return "bfloat16";
    return std::nullopt;
}

}  // namespace hipscope
