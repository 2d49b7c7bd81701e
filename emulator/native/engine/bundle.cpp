// Clang offload bundles: "__CLANG_OFFLOAD_BUNDLE__", entry count, then (offset, size, triple) rows; "CCOB" when
// compressed. Formats: clang's ClangOffloadBundler documentation.
#include "engine/bundle.hpp"

#include <dlfcn.h>
#include <zstd.h>

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <vector>

namespace hipscope {
namespace {

constexpr std::string_view kMagic = "__CLANG_OFFLOAD_BUNDLE__";
constexpr std::string_view kCompressed = "CCOB";
constexpr std::uint64_t kLargestBundle = 1ULL << 31U;  // unpacked; a larger one is taken for a damaged header
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
    const auto end = std::find_if_not(triple.begin() + static_cast<std::ptrdiff_t>(at), triple.end(), [](unsigned char c) { return std::isalnum(c) != 0 || c == '-'; });
    return {triple.begin() + static_cast<std::ptrdiff_t>(at), end};
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

/// A function of a library that is loaded only when it is needed.
template <class Function>
Function loaded(const char* library, const char* name) {
    void* handle = dlopen(library, RTLD_NOW | RTLD_LOCAL);
    const auto function = handle != nullptr ? reinterpret_cast<Function>(dlsym(handle, name)) : nullptr;
    if (function == nullptr)
        throw std::runtime_error(std::string("the device code is a compressed bundle and ") + library +
                                 " is not installed; install it or compile with -fno-offload-compress");
    return function;
}

/// Bytes that came out.
std::size_t decompress_with(std::uint16_t method, std::string& plain, std::string_view packed) {
    if (method == 1) return ZSTD_decompress(plain.data(), plain.size(), packed.data(), packed.size());  // errors are very large
    if (method != 0) throw std::runtime_error("compressed offload bundle with a method other than zlib and zstd; compile with -fno-offload-compress");
    using Zlib = int (*)(unsigned char*, unsigned long*, const unsigned char*, unsigned long);
    unsigned long size = plain.size();
    const int failed = loaded<Zlib>("libz.so.1", "uncompress")(reinterpret_cast<unsigned char*>(plain.data()), &size,
                                                               reinterpret_cast<const unsigned char*>(packed.data()), packed.size());
    return failed == 0 ? size : 0;
}

std::string decompress(std::string_view data) {
    const CompressedHeader header = compressed_header(data);
    if (header.total_bytes < header.header_bytes || header.total_bytes > data.size() || header.plain_bytes > kLargestBundle)
        throw std::runtime_error("the compressed offload bundle is damaged");
    std::string plain(header.plain_bytes, '\0');
    const std::size_t size = decompress_with(header.method, plain, data.substr(header.header_bytes, header.total_bytes - header.header_bytes));
    if (size != plain.size()) throw std::runtime_error("the compressed offload bundle is damaged");
    return plain;
}

std::uint64_t elf_size(std::string_view elf) {
    return read<std::uint64_t>(elf, 40) + std::uint64_t{read<std::uint16_t>(elf, 58)} * read<std::uint16_t>(elf, 60);
}

/// How far memory can be read from `data` on, by the process's own memory map.
std::uint64_t readable_bytes(const void* data) {
    const auto address = reinterpret_cast<std::uint64_t>(data);
    std::uint64_t end = address;
    std::ifstream maps("/proc/self/maps");
    for (std::string line; std::getline(maps, line);) {
        unsigned long long first = 0;
        unsigned long long last = 0;
        char readable = '-';
        if (std::sscanf(line.c_str(), "%llx-%llx %c", &first, &last, &readable) != 3 || readable != 'r') continue;
        if (first <= end && end < last) end = last;
    }
    return end - address;
}

std::uint64_t claimed_size(std::string_view window) {
    if (window.starts_with(kElf)) return elf_size(window);
    if (window.starts_with(kCompressed)) return compressed_header(window).total_bytes;
    if (!window.starts_with(kMagic)) return 0;
    std::uint64_t end = 0;
    for (const Entry& entry : entries(window)) end = std::max(end, entry.offset + entry.size);
    return end;
}

}  // namespace

std::string extract_code_object(std::string_view data, std::string_view arch) {
    if (data.starts_with(kElf)) return std::string(data);
    std::string plain;
    if (data.starts_with(kCompressed)) {
        plain = decompress(data);
        data = plain;
    }
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

std::string_view image_bytes(const void* data) {
    const std::string_view window(static_cast<const char*>(data), readable_bytes(data));
    try {
        return window.substr(0, claimed_size(window));
    } catch (const std::runtime_error&) {
        return {};
    }
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
