// Text format, one line each: "hipscope-dispatch 2", then "CRC BYTES NAME" sorted by name, then "end CRC" of all before.
#include "capture/checksum.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "capture/record.hpp"

namespace hipscope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFile = "checksums", kMeta = "meta.json", kFormat = "hipscope-dispatch";
constexpr int kVersion = 2;

using Tables = std::array<std::array<std::uint32_t, 256>, 8>;

constexpr Tables kTables = [] {  // tables[k][b]: the byte b, followed by k zero bytes
    Tables tables{};
    for (std::uint32_t b = 0; b < 256; ++b) {
        std::uint32_t crc = b;
        for (int bit = 0; bit < 8; ++bit) crc = (crc >> 1U) ^ ((crc & 1U) != 0 ? 0xedb88320U : 0U);
        tables[0][b] = crc;
    }
    for (std::size_t k = 1; k < 8; ++k)
        for (std::size_t b = 0; b < 256; ++b) tables[k][b] = (tables[k - 1][b] >> 8U) ^ tables[0][tables[k - 1][b] & 255U];
    return tables;
}();

std::string line(std::uint32_t crc, std::uint64_t bytes, std::string_view name) {
    char text[40];
    std::snprintf(text, sizeof text, "%08x %llu ", crc, static_cast<unsigned long long>(bytes));
    return text + std::string(name) + "\n";
}

}  // namespace

std::uint32_t crc32(std::string_view bytes) {
    std::uint32_t crc = ~0U;
    const auto* at = reinterpret_cast<const unsigned char*>(bytes.data());
    std::size_t left = bytes.size();
    for (; left >= 8; left -= 8, at += 8) {
        std::uint32_t next = 0;
        for (std::size_t k = 0; k < 8; ++k) next ^= kTables[7 - k][at[k] ^ (k < 4 ? crc >> (8U * k) & 255U : 0U)];
        crc = next;
    }
    for (; left > 0; --left, ++at) crc = (crc >> 8U) ^ kTables[0][(crc ^ *at) & 255U];
    return ~crc;
}

std::string read_file(const std::string& path) {
    std::ifstream file(path, std::ios::binary);
    if (!file) throw std::runtime_error("cannot read '" + path + "'");
    return {std::istreambuf_iterator<char>(file), {}};
}

void write_checksums(const std::string& folder, std::string_view meta) {
    std::map<std::string, std::string> lines{{std::string(kMeta), line(crc32(meta), meta.size(), kMeta)}};
    for (const fs::directory_entry& entry : fs::directory_iterator(folder)) {
        const std::string name = entry.path().filename().string();
        if (!entry.is_regular_file() || name == kFile || name == kMeta || name.ends_with(".part")) continue;
        const std::string content = read_file(entry.path().string());
        lines[name] = line(crc32(content), content.size(), name);
    }
    std::string text = std::string(kFormat) + " " + std::to_string(kVersion) + "\n";
    for (const auto& [name, row] : lines) text += row;
    char end[20];
    std::snprintf(end, sizeof end, "end %08x\n", crc32(text));
    text += end;
    write_capture_file(folder + "/" + std::string(kFile), text.data(), text.size());
}

Checksums::Checksums(std::string folder) : folder_(std::move(folder)) {
    const std::string path = folder_ + "/" + std::string(kFile);
    if (!fs::exists(path)) throw std::runtime_error("'" + folder_ + "' is not a captured dispatch: it has no file `checksums`");
    const std::string text = read_file(path);
    std::istringstream in(text);
    std::string format;
    int version = 0;
    if (!(in >> format >> version) || format != kFormat) throw std::runtime_error("'" + path + "' is not from hipscope");
    if (version != kVersion)
        throw std::runtime_error("'" + folder_ + "' was captured in version " + std::to_string(version) + " of the format, this hipscope reads version " +
                                 std::to_string(kVersion) + "; profile the program again");
    const std::size_t end = text.rfind("end ");
    char expected[20];
    std::snprintf(expected, sizeof expected, "end %08x\n", crc32(std::string_view(text).substr(0, end)));
    if (end == std::string::npos || text.substr(end) != expected) throw std::runtime_error("'" + path + "' is damaged");
    Entry entry;
    for (std::string name; in >> std::hex >> entry.crc >> std::dec >> entry.bytes >> name;) entries_[name] = entry;
}

std::string Checksums::read(const std::string& name) const {
    const auto entry = entries_.find(name);
    if (entry == entries_.end()) throw std::runtime_error("'" + folder_ + "' has no recorded file " + name);
    std::string content = read_file(folder_ + "/" + name);
    if (content.size() != entry->second.bytes)
        throw std::runtime_error("'" + folder_ + "/" + name + "' has " + std::to_string(content.size()) + " bytes instead of " +
                                 std::to_string(entry->second.bytes) + "; profile the program again");
    if (crc32(content) != entry->second.crc) throw std::runtime_error("'" + folder_ + "/" + name + "' is damaged; profile the program again");
    return content;
}

}  // namespace hipscope
