// Clang offload bundles: "__CLANG_OFFLOAD_BUNDLE__", entry count, then (offset, size, triple) rows; "CCOB" when
// compressed. Formats: clang's ClangOffloadBundler documentation.
#include "engine/bundle.hpp"

#include <dlfcn.h>

#include <array>
#include <cstring>
#include <stdexcept>
#include <vector>

namespace hipscope {
namespace {

constexpr std::string_view kMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressed = "CCOB";
constexpr std::string_view kElf = "\x7f" "ELF";

template <class T>
T read(std::string_view data, std::uint64_t at) {
    if (at > data.size() || sizeof(T) > data.size() - at) throw std::runtime_error("the offload bundle is truncated");
    T value;
    std::memcpy(&value, data.data() + at, sizeof value);
    return value;
}

struct Entry {
    std::uint64_t offset, size;
    std::string_view triple;
};

std::vector<Entry> entries(std::string_view data) {
    std::vector<Entry> result;
    const auto count = read<std::uint64_t>(data, kMagic.size());
    std::uint64_t at = kMagic.size() + 8;
    for (std::uint64_t i = 0; i < count; ++i) {
        const auto offset = read<std::uint64_t>(data, at);
        const auto size = read<std::uint64_t>(data, at + 8);
        const auto length = read<std::uint64_t>(data, at + 16);
        at += 24;
        if (length > data.size() - at) throw std::runtime_error("the offload bundle is truncated");
        result.push_back({offset, size, data.substr(at, length)});
        at += length;
    }
    return result;
}

/// "hipv4-amdgcn-amd-amdhsa--gfx942:xnack-" -> "gfx942"; empty for host entries.
std::string_view architecture(std::string_view triple) {
    const std::size_t at = triple.find("gfx");
    if (at == std::string_view::npos) return {};
    return triple.substr(at, triple.find(':', at) - at);
}

struct CompressedHeader {
    std::uint64_t header_bytes, total_bytes, plain_bytes;
    std::uint16_t method;
};

CompressedHeader compressed_header(std::string_view data) {
    const auto version = read<std::uint16_t>(data, 4);
    const auto method = read<std::uint16_t>(data, 6);
    switch (version) {
        case 1: return {20, data.size(), read<std::uint32_t>(data, 8), method};
        case 2: return {24, read<std::uint32_t>(data, 8), read<std::uint32_t>(data, 12), method};
        case 3: return {32, read<std::uint64_t>(data, 8), read<std::uint64_t>(data, 16), method};
        default: throw std::runtime_error("compressed offload bundle of unknown version " + std::to_string(version));
    }
}

std::string decompress(std::string_view data) {
    const CompressedHeader header = compressed_header(data);
    if (header.method != 1)
        throw std::runtime_error("compressed offload bundle with a method other than zstd; compile with "
                                 "-fno-offload-compress");
    void* zstd = dlopen("libzstd.so.1", RTLD_NOW | RTLD_LOCAL);
    using Decompress = std::size_t (*)(void*, std::size_t, const void*, std::size_t);
    const auto run = zstd ? reinterpret_cast<Decompress>(dlsym(zstd, "ZSTD_decompress")) : nullptr;
    if (run == nullptr)
        throw std::runtime_error("the device code is a compressed bundle and libzstd.so.1 is not installed; install "
                                 "it or compile with -fno-offload-compress");
    std::string plain(header.plain_bytes, '\0');
    const std::size_t size = run(plain.data(), plain.size(), data.data() + header.header_bytes,
                                 header.total_bytes - header.header_bytes);
    if (size != plain.size()) throw std::runtime_error("the compressed offload bundle is damaged");
    return plain;
}

std::uint64_t elf_size(const std::uint8_t* elf) {
    std::uint64_t sections = 0;
    std::uint16_t entry_size = 0;
    std::uint16_t count = 0;
    std::memcpy(&sections, elf + 40, 8);
    std::memcpy(&entry_size, elf + 58, 2);
    std::memcpy(&count, elf + 60, 2);
    return sections + std::uint64_t{entry_size} * count;
}

}  // namespace

std::string extract_code_object(std::string_view data, std::string_view arch) {
    if (data.starts_with(kElf)) return std::string(data);
    if (data.starts_with(kCompressed)) return extract_code_object(decompress(data), arch);
    if (!data.starts_with(kMagic)) throw std::runtime_error("this is neither an offload bundle nor an ELF file");
    std::string present;
    for (const Entry& entry : entries(data)) {
        const std::string_view found = architecture(entry.triple);
        if (found == arch && entry.size > 0) {
            if (entry.offset > data.size() || entry.size > data.size() - entry.offset)
                throw std::runtime_error("the offload bundle is truncated");
            return std::string(data.substr(entry.offset, entry.size));
        }
        if (!found.empty()) present += (present.empty() ? "" : ", ") + std::string(found);
    }
    throw std::runtime_error("the program has no device code for " + std::string(arch) + " (it has " +
                             (present.empty() ? "none" : present) + "); compile with --offload-arch=" +
                             std::string(arch));
}

std::uint64_t image_size(const void* data) {
    const auto* bytes = static_cast<const std::uint8_t*>(data);
    const std::string_view head(static_cast<const char*>(data), kMagic.size());
    if (head.starts_with(kElf)) return elf_size(bytes);
    if (head.starts_with(kCompressed)) {
        const CompressedHeader header = compressed_header({static_cast<const char*>(data), 64});
        return header.total_bytes;
    }
    if (head != kMagic) return 0;
    // Rows are read through a window that is surely mapped: a bundle's table is far smaller than its first entry.
    std::uint64_t end = 0;
    for (const Entry& entry : entries({static_cast<const char*>(data), 1U << 16U}))
        end = std::max(end, entry.offset + entry.size);
    return end;
}

std::string content_hash(std::string_view data) {
    std::uint64_t hash = 0xcbf29ce484222325ULL;
    for (const char c : data) hash = (hash ^ static_cast<std::uint8_t>(c)) * 0x100000001b3ULL;
    constexpr std::string_view digits = "0123456789abcdef";
    std::string text(16, '0');
    for (int i = 15; i >= 0; --i, hash >>= 4U) text[static_cast<std::size_t>(i)] = digits[hash & 15U];
    return text;
}

}  // namespace hipscope
