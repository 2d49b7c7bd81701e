// Text format, one line each: "hipscope-dispatch 3", then "CRC BYTES NAME" sorted by name, then "end CRC" of all before.
#include "capture/checksum.hpp"

#include <array>
#include <cstdio>
#include <filesystem>
#include <set>
#include <sstream>
#include <stdexcept>
#include <tuple>

#include "capture/frames.hpp"
#include "core/files.hpp"

namespace hipscope {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kFile = "checksums", kMeta = "meta.json", kFormat = "hipscope-dispatch", kPacked = ".zst";
constexpr int kVersion = 3;
constexpr std::size_t kWorthPacking = 1U << 14U;  // a smaller file is not much larger than what a packed one takes on disk
constexpr std::uint64_t kMostHeld = 4ULL << 30U;  // bytes of unpacked contents that are kept for the next replay
constexpr std::size_t kMostFiles = 256;           // and how many there may be: each is an open file

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

DispatchWriter::DispatchWriter(std::string folder) : folder_(std::move(folder)) {
    std::error_code error;
    fs::create_directories(folder_, error);
    if (error) throw CannotWrite(folder_, error.message());
}

void DispatchWriter::add(const std::string& name, std::string_view content) {
    write_file(folder_ + "/" + name, content);
    note(name, content);
}

void DispatchWriter::add_memory(const std::string& name, std::string_view content) {
    if (content.size() < kWorthPacking) return add(name, content);
    const std::string packed = pack(content);
    if (packed.size() > content.size() / 4 * 3) return add(name, content);  // a replay maps it, which costs nothing
    write_file(folder_ + "/" + name + std::string(kPacked), packed);
    note(name + std::string(kPacked), content);
}

void DispatchWriter::note(const std::string& name, std::string_view content) {
    lines_[name] = line(crc32(content), content.size(), name);
}

void DispatchWriter::seal(std::string_view meta) {
    note(std::string(kMeta), meta);
    std::string text = std::string(kFormat) + " " + std::to_string(kVersion) + "\n";
    for (const auto& [name, row] : lines_) text += row;
    char end[20];
    std::snprintf(end, sizeof end, "end %08x\n", crc32(text));
    text += end;
    write_file(folder_ + "/" + std::string(kFile), text);
    replace_file(folder_ + "/" + std::string(kMeta), meta);
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
    for (std::string name; in >> std::hex >> entry.crc >> std::dec >> entry.bytes >> name;) {
        if (name.find('/') != std::string::npos) throw std::runtime_error("'" + path + "' names files of other folders");
        entries_[name] = entry;
    }
}

const Checksums::Entries::value_type& Checksums::entry(const std::string& name) const {
    auto found = entries_.find(name);
    if (found == entries_.end()) found = entries_.find(name + std::string(kPacked));
    if (found == entries_.end()) throw std::runtime_error("'" + folder_ + "' has no recorded file " + name);
    return *found;
}

void Checksums::check(const Entries::value_type& entry, std::string_view content) const {
    const auto& [name, recorded] = entry;
    if (content.size() != recorded.bytes)
        throw std::runtime_error("'" + folder_ + "/" + name + "' has " + std::to_string(content.size()) + " bytes instead of " +
                                 std::to_string(recorded.bytes) + "; profile the program again");
    if (crc32(content) != recorded.crc) throw std::runtime_error("'" + folder_ + "/" + name + "' is damaged; profile the program again");
}

MappedFile Checksums::open(const Entries::value_type& entry) const {
    const std::string path = folder_ + "/" + entry.first;
    return entry.first.ends_with(kPacked) ? MappedFile::unpacked(path, entry.second.bytes) : MappedFile(path);
}

std::string Checksums::read(const std::string& name) const {
    const Entries::value_type& recorded = entry(name);
    const MappedFile file = open(recorded);
    check(recorded, file.bytes());
    return std::string(file.bytes());
}

std::shared_ptr<const MappedFile> Checksums::map(const std::string& name) const {
    using Key = std::tuple<FileIdentity, std::uint32_t, std::uint64_t>;  // names share files
    static std::set<Key> sound;
    static std::map<Key, std::shared_ptr<const MappedFile>> held;
    static std::uint64_t held_bytes = 0;
    const Entries::value_type& recorded = entry(name);
    const bool packed = recorded.first.ends_with(kPacked);
    const Key key{identity_of(folder_ + "/" + recorded.first), recorded.second.crc, recorded.second.bytes};
    if (const auto known = held.find(key); known != held.end()) return known->second;
    auto file = std::make_shared<const MappedFile>(open(recorded));
    if (sound.contains(key)) return file;
    check(recorded, file->bytes());
    if (!packed) {
        sound.insert(key);
        return file;
    }
    if (held_bytes + recorded.second.bytes > kMostHeld || held.size() >= kMostFiles) {
        held.clear();
        held_bytes = 0;
    }
    held_bytes += recorded.second.bytes;
    return held[key] = std::move(file);
}

void Checksums::check_buffers() const {
    for (const auto& [name, recorded] : entries_)
        if (name.starts_with("buffer_") && name.find(".before") != std::string::npos) static_cast<void>(map(name));
}

}  // namespace hipscope
